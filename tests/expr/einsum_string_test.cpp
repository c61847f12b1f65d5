// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <string>

#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/expr/label.hpp"

namespace ein = eindecomp;
using ein::Text;
using ein::expr::LabelNames;

namespace {

/// "ij,jk->ik" as it was understood.
constexpr Text understood(std::string_view text) {
  const ein::ParsedEinsum parsed = ein::parse_einsum(text);
  if (!parsed.fault.empty()) return parsed.fault;
  Text result;
  for (const LabelNames& operand : parsed.operands) {
    if (&operand != parsed.operands.data()) result += ',';
    for (std::string_view label : operand) result += label;
  }
  result += "->";
  for (std::string_view label : parsed.output) result += label;
  return result;
}

}  // namespace

static_assert(understood("ij,jk->ik") == "ij,jk->ik");
static_assert(understood(" i j , j k -> i k ") == "ij,jk->ik");
static_assert(understood("ii->") == "ii->");
static_assert(understood("ii") == "ii->");
static_assert(understood("ij") == "ij->ij");
static_assert(understood("ji") == "ji->ij");
static_assert(understood("ij,jk") == "ij,jk->ik");
static_assert(understood("ki,kj") == "ki,kj->ij");
static_assert(understood("bA,Ac") == "bA,Ac->bc");
static_assert(understood("bA") == "bA->Ab");
static_assert(understood(",ij") == ",ij->ij");
static_assert(understood(",ij->ij") == ",ij->ij");
static_assert(understood("") == "->");
static_assert(understood(",") == ",->");
static_assert(understood("->") == "->");
static_assert(understood("iij->j") == "iij->j");
static_assert(understood("ea,fb,abcd,gc,hd->efgh") == "ea,fb,abcd,gc,hd->efgh");

static_assert(
    understood("ij->ijk").view().starts_with("label 'k' is in the output but in no operand"));
static_assert(understood("ij->ii").view().starts_with("label 'i' is repeated in the output"));
static_assert(understood("i1->i") ==
              "character '1' at position 1 in \"i1->i\" is unknown; a string has letters, commas "
              "and one \"->\"");
static_assert(understood("i->j->k").view().starts_with("character '-' at position 4"));
static_assert(understood("i->j,k").view().starts_with("character ',' at position 4"));
static_assert(understood("ij-k").view().starts_with("character '-' at position 2"));
static_assert(understood("ij-").view().starts_with("character '-' at position 2"));
static_assert(understood("ij>k").view().starts_with("character '>' at position 2"));
static_assert(understood("...i->i") ==
              "ellipsis in \"...i->i\" is not supported; write every dimension as a label");
static_assert(understood("i\tj").view().starts_with("character '\t' at position 1"));

static_assert([] {
  constexpr ein::EinsumShape shape = ein::einsum_shape<"bij,jk->kb">();
  return shape.operands == 2 && shape.labels == 4 && shape.rank[0] == 3 && shape.rank[1] == 2 &&
         shape.operand[0][2] == 2 && shape.operand[1][0] == 2 && shape.operand[1][1] == 3 &&
         shape.output_rank == 2 && shape.output[0] == 3 && shape.output[1] == 0 &&
         !shape.aggregated[0] && shape.aggregated[1] && shape.aggregated[2] &&
         !shape.aggregated[3] && shape.name[3] == 'k';
}());

static_assert(ein::expr::einsum_string_fault("a,b,c,d,e,f,g,h,i") ==
              "\"a,b,c,d,e,f,g,h,i\" has more than 8 operands; write it in several statements");
static_assert(ein::expr::einsum_string_fault("abcdefghi->a") ==
              "an operand in \"abcdefghi->a\" has more than 8 labels (the largest rank)");
static_assert(ein::expr::einsum_string_fault("abcde,fghij->abcdefghi") ==
              "the output in \"abcde,fghij->abcdefghi\" has more than 8 labels (the largest rank)");

// --- computed indices ---------------------------------------------------------------------------

/// "2y+r-1" of an index, in the order of its labels.
constexpr ein::Text index_text(std::string_view text, std::size_t operand, std::size_t k) {
  const ein::ParsedEinsum parsed = ein::parse_einsum(text);
  if (!parsed.fault.empty()) return parsed.fault;
  const ein::StringIndex& index = parsed.indices[operand][k];
  ein::Text result = index.computed ? "(" : "";
  for (int t = 0; t < index.terms; ++t) {
    result = result + index.coefficient[t] + std::string_view(&index.letter[t], 1) + " ";
  }
  return result + index.offset + (index.computed ? ")" : "");
}
static_assert(index_text("b(2y+r-1),r->by", 0, 0) == "1b 0");
static_assert(index_text("b(2y+r-1),r->by", 0, 1) == "(2y 1r -1)");
static_assert(index_text("( - 12 y + 3 - r + 10 )", 0, 0) == "(-12y -1r 13)");
static_assert(index_text("(y+2y)", 0, 0) == "(3y 0)");
static_assert(index_text("(3)", 0, 0) == "(3)");
static_assert(index_text("( i )j", 0, 0) == "1i 0");
static_assert(understood("b(2y+r-1),ocr->boy") == "byr,ocr->boy");
static_assert(understood("(y+r)x,r") == "yrx,r->xy");
static_assert(index_text("(y+r)x,r->xy", 1, 0) == "1r 0");
static_assert(understood("(2y+)->y") ==
              "index \"(2y+)\" in \"(2y+)->y\" is no sum of up to 4 labels and integers; write it "
              "like (2y+r-1)");
static_assert(understood("(y").view().starts_with("index \"(y\" in \"(y\" is no sum"));
static_assert(understood("()i").view().starts_with("index \"()\""));
static_assert(understood("( )i").view().starts_with("index \"( )\""));
static_assert(understood("(2 3)i").view().starts_with("index \"(2 3)\""));
static_assert(understood("(yr)i").view().starts_with("index \"(yr)\""));
static_assert(understood("(y*r)i").view().starts_with("index \"(y*r)\""));
static_assert(understood("(y-y)i").view().starts_with("index \"(y-y)\""));
static_assert(understood("(a+b+c+d+e)").view().starts_with("index \"(a+b+c+d+e)\""));
static_assert(understood("(99999999999999y)").view().starts_with("index \"(99999999999999y)\""));
static_assert(understood("i->(i+1)") ==
              "index \"(i+1)\" in \"i->(i+1)\" is of the output; an output has labels");
static_assert(understood("periodic(i-1)j->ij") ==
              "\"periodic(\" in \"periodic(i-1)j->ij\" is no part of a string (strings have no "
              "boundaries, divisors or extents); write the expression, X(periodic(...), ...)");
static_assert(understood("jzero(i+1)").view().starts_with("\"zero(\" in"));
static_assert(understood("whole(i,2)").view().starts_with("\"whole(\" in"));
static_assert(understood("extent(r)").view().starts_with("\"extent(\" in"));
static_assert(understood("clap(i)->clapi") == "clapi->clapi");
static_assert(understood("i)->i").view().starts_with("character ')' at position 1"));
static_assert(ein::expr::computed_index_fault("ij,jk->ik").empty());
static_assert(
    ein::expr::computed_index_fault("(i+1)j->ij") ==
    "\"(i+1)j->ij\" has an index in parentheses, which is computed, and these are read in "
    "programs alone; write a statement of a program");

TEST_CASE("the parser says the same at run time") {
  CHECK(understood(std::string("ij,jk->ik")).str() == "ij,jk->ik");
  CHECK(understood(std::string("i?->i")).str().find("character '?' at position 1") == 0);
}

// --- labels ------------------------------------------------------------------------------------

using namespace ein::labels;
static_assert(i.name == "i" && upper::Z.name == "Z" && ein::label<"head">.name == "head");
static_assert(std::is_same_v<decltype(i), const ein::Label<"i">>);
static_assert(std::is_empty_v<ein::Label<"head">>);
static_assert(ein::AnyLabel<decltype(i)> && !ein::AnyLabel<int>);
static_assert(!ein::AnyLabel<decltype(ein::extent(i, 3))> &&
              ein::OutputLabel<decltype(ein::extent(i, 3))>);
static_assert(ein::extent(k, 5).extent == 5);

using I = ein::Label<"i">;
using J = ein::Label<"j">;
using K = ein::Label<"k">;
using ein::LabelList;
static_assert(
    std::is_same_v<ein::UnitedLabels<LabelList<I, J>, LabelList<J, K>>, LabelList<I, J, K>>);
static_assert(
    std::is_same_v<ein::UnitedLabels<LabelList<K, K>, LabelList<>, LabelList<I>>, LabelList<K, I>>);
static_assert(std::is_same_v<ein::UnitedLabels<>, LabelList<>>);
static_assert(
    std::is_same_v<ein::RemainingLabels<LabelList<I, J, K>, LabelList<J>>, LabelList<I, K>>);
static_assert(std::is_same_v<ein::RemainingLabels<LabelList<I>, LabelList<I>>, LabelList<>>);

// --- label rules ---------------------------------------------------------------------------------

/// Labels of one letter; g++ 12 takes no braces within braces in a constant expression.
constexpr LabelNames names(std::string_view letters) {
  LabelNames result;
  for (std::size_t n = 0; n < letters.size(); ++n) result.push_back(letters.substr(n, 1));
  return result;
}
constexpr std::vector<LabelNames> one_operand(std::string_view letters) {
  std::vector<LabelNames> operands;
  operands.push_back(names(letters));
  return operands;
}
constexpr Text output_fault(std::string_view operand, std::string_view output,
                            std::string_view sized = "") {
  ein::Flags is_sized;
  for (char label : output) is_sized.push_back(sized.find(label) != std::string_view::npos);
  return ein::expr::output_fault(one_operand(operand), names(output), is_sized);
}
constexpr Text aggregation_fault(std::string_view operand, std::string_view output,
                                 std::string_view aggregated) {
  return ein::expr::aggregation_fault(one_operand(operand), names(output), names(aggregated));
}

static_assert(output_fault("ij", "ji").empty());
static_assert(output_fault("i", "ik", "k").empty());
static_assert(output_fault("i", "ik") ==
              "label 'k' is in the output but in no operand (nothing gives its extent); write "
              "extent(k, n) to broadcast along it");
static_assert(output_fault("i", "ii") ==
              "label 'i' is repeated in the output (each element has one place); give each output "
              "dimension its own label");
static_assert(aggregation_fault("ij", "i", "j").empty());
static_assert(aggregation_fault("ij", "i", "") ==
              "label 'j' is in an operand but neither in the output nor aggregated; add it to one");
static_assert(aggregation_fault("i", "i", "i") ==
              "label 'i' is aggregated and in the output (an aggregated label is gone); take it "
              "out of one");
static_assert(aggregation_fault("i", "i", "q") ==
              "label 'q' is aggregated but in no operand; take it out of the aggregation");
static_assert(aggregation_fault("i", "", "ii") == "label 'i' is aggregated twice; name it once");
TEST_CASE("an access as text") { CHECK(ein::expr::access_text("X", {"i", "head"}) == "X(i,head)"); }
