// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/program_json.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "eindecomp/graph/print.hpp"
#include "eindecomp/tools/countable.hpp"

using namespace eindecomp;

namespace {

/// A program of two matrices with other statements, and members after them.
std::string program(const std::string& statements, const std::string& more = "") {
  return R"({"inputs": {"A": [4, 6], "B": [6, 8]}, "statements": [)" + statements + "]" + more +
         "}";
}

/// The product, with further members.
std::string product(const std::string& more = "") {
  return R"({"name": "C", "einsum": "ij,jk->ik", "operands": ["A", "B"])" + more + "}";
}

std::string program_complaint(const std::string& text) {
  try {
    static_cast<void>(read_program(text, "p.json"));
  } catch (const Error& error) {
    return std::string(error.sentence());
  }
  return "";
}

}  // namespace

TEST_CASE("a program is read statement by statement") {
  const JsonProgram read = read_program(
      program(product() + R"(, {"name": "R", "einsum": "ik->ik", "operands": ["C"], "join": "relu",
                               "elementwise": true},
                              {"name": "m", "einsum": "ik->i", "operands": ["R"],
                               "aggregate": "argmax"})",
              R"(, "roles": {"i": "batch"}, "uncut": ["k"], "layout": {"B": [2, 1]})"),
      "p.json");
  CHECK(to_text(read.graph) ==
        "A(4,6) : float, input\n"
        "B(6,8) : float, input\n"
        "C(i,k) = sum[j] mul(A(i,j), B(j,k)) : float, i=4 j=6 k=8\n"
        "R(i,k) = relu(C(i,k)) : float, i=4 k=8\n"
        "m(i) = argmax[k] R(i,k) : int64, i=4 k=8\n");
  CHECK(read.graph.labels[0].role == "batch");
  CHECK(read.graph.labels[1].role == "");
  CHECK_FALSE(read.graph.labels[0].uncut);
  CHECK(read.graph.labels[2].uncut);
  REQUIRE(read.layouts.size() == 1);
  CHECK(read.layouts[0].tensor == "B");
  CHECK(read.layouts[0].parts == std::vector<Extent>{2, 1});
  CHECK(read.graph[read.graph.find("m")].partial.bytes == sizeof(Indexed<float>));
}

TEST_CASE("defaults depend on the number of operands") {
  const JsonProgram read = read_program(
      R"({"inputs": {"A": [4, 6], "s": []}, "statements": [
          {"name": "x", "einsum": "ij->", "operands": ["A"]},
          {"name": "y", "einsum": "ij,ij,->i", "operands": ["A", "A", "s"]},
          {"name": "z", "einsum": "ij", "operands": ["A"]}]})",
      "p.json");
  CHECK(to_text(read.graph) ==
        "A(4,6) : float, input\n"
        "s() : float, input\n"
        "x() = sum[i,j] A(i,j) : float, i=4 j=6\n"
        "y(i) = sum[j] mul(A(i,j), A(i,j), s()) : float, i=4 j=6\n"
        "z(i,j) = A(i,j) : float, i=4 j=6\n");
}

TEST_CASE("elements are promoted, accumulators are those of the aggregation") {
  const JsonProgram read = read_program(
      R"({"inputs": {"A": [4, 6]}, "statements": [
          {"name": "n", "einsum": "ij->i", "operands": ["A"], "aggregate": "argmin"},
          {"name": "any", "einsum": "ij->i", "operands": ["A"], "aggregate": "or"},
          {"name": "both", "einsum": "i,i->i", "operands": ["n", "any"]},
          {"name": "e", "einsum": "i->i", "operands": ["n"], "join": "exp"},
          {"name": "f", "einsum": "ij,i->ij", "operands": ["A", "n"], "join": "add"},
          {"name": "l", "einsum": "ij->i", "operands": ["A"], "aggregate": "log_sum_exp"}]})",
      "p.json");
  const auto element = [&](const char* name) { return read.graph[read.graph.find(name)].element; };
  CHECK(element("n") == element_type<std::int64_t>());
  CHECK(element("any") == element_type<std::int32_t>());
  CHECK(element("both") == element_type<std::int64_t>());
  CHECK(element("e") == element_type<double>());
  CHECK(element("f") == element_type<float>());
  CHECK(element("l") == element_type<float>());
  CHECK(read.graph[read.graph.find("l")].partial == element_type<ScaledExponential<float>>());
}

TEST_CASE("an opaque operator is taken by its name, what it aggregates stays whole there alone") {
  const JsonProgram read = read_program(
      program(R"({"name": "M", "einsum": "ij,jk->ik", "operands": ["A", "B"], "join": "my join",
                  "aggregate": "median"}, {"name": "S", "einsum": "ij->i", "operands": ["A"]})"),
      "p.json");
  const EinGraph& graph = read.graph;
  CHECK(formula(graph, graph.find("M")) == "M(i,k) = median[j] my join(A(i,j), B(j,k))");
  const auto uncut = [&](const char* name) {
    std::string labels;
    for (LabelId l : graph[graph.find(name)].labels) {
      const LabelInfo& label = graph.labels[static_cast<std::size_t>(l)];
      if (label.uncut) labels += label.name.view();
    }
    return labels;
  };
  CHECK(uncut("M") == "j");
  CHECK(uncut("S") == "");
}

TEST_CASE("roles and uncut labels hold for labels of that name in every statement") {
  const JsonProgram read = read_program(
      program(R"({"name": "M", "einsum": "ij->i", "operands": ["A"], "aggregate": "median"},
                 {"name": "S", "einsum": "ij->i", "operands": ["A"]})",
              R"(, "roles": {"j": "hidden"}, "uncut": ["i"])"),
      "p.json");
  for (const LabelInfo& label : read.graph.labels) {
    CHECK(label.role == (label.name == "j" ? "hidden" : ""));
  }
  CHECK(read.graph.labels[0].uncut);
}

TEST_CASE("statements are written as they stand unless rewriting is asked for") {
  const std::string text =
      R"({"inputs": {"A": [100, 2], "B": [2, 100], "C": [100, 2], "P": [5, 7]}, "statements": [
          {"name": "D", "einsum": "ij,jk,kl->il", "operands": ["A", "B", "C"]},
          {"name": "E", "einsum": "ij,ab->i", "operands": ["A", "P"]},
          {"name": "F", "einsum": "ij,ab->i", "operands": ["A", "P"], "join": "abs_diff"},
          {"name": "G", "einsum": "ab->ab", "operands": ["P"], "join": "tanh"},
          {"name": "H", "einsum": "ab->ab", "operands": ["P"], "join": "tanh"},
          {"name": "I", "einsum": "ab,ab->", "operands": ["G", "H"]},
          {"name": "J", "einsum": "ab->", "operands": ["P"], "join": "my own"},
          {"name": "K", "einsum": "ab->", "operands": ["P"], "join": "my own"}]})";
  CHECK(read_program(text, "p.json").graph.size() == 4 + 8);
  const EinGraph graph = read_program(text, "p.json", true).graph;
  // (A·B)·C costs 100·2·100 + …, A·(B·C) far less.
  CHECK(formula(graph, graph.find("D.join0")) == "D.join0(j,l) = sum[k] mul(B(j,k), C(k,l))");
  CHECK(formula(graph, graph.find("D")) == "D(i,l) = sum[j] mul(A(i,j), D.join0(j,l))");
  CHECK(graph.find("E.private0") >= 0);  // Σ over one operand first
  CHECK(graph.find("E.private1") >= 0);
  CHECK(graph.find("F.private0") < 0);  // |a - b| does not distribute over the sum
  CHECK(graph.find("H") < 0);           // the same as G
  CHECK(formula(graph, graph.find("I")) == "I() = sum[a,b] mul(G(a,b), G(a,b))");
  CHECK(graph.find("K") >= 0);  // nothing is known of its join
}

TEST_CASE("a result that is shared stays one") {
  const EinGraph graph = read_program(R"({"inputs": {"A": [4]}, "statements": [
      {"name": "x", "einsum": "i->i", "operands": ["A"], "join": "exp"},
      {"name": "y", "einsum": "i->i", "operands": ["A"], "join": "exp"},
      {"name": "z", "einsum": "i->", "operands": ["x"]}]})",
                                      "p.json", true)
                             .graph;
  CHECK(graph.results().size() == 2);
  CHECK(graph[graph.find("x")].kept);
}

TEST_CASE("every error names the file and the place") {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::string twice = product() + ", " + product();
  const std::vector<Case> cases{
      {"", "p.json: this is not JSON: parse error at line 1, column 1"},
      {"{\"inputs\": {},}", "p.json: this is not JSON: parse error at line 1, column 15"},
      {"{\n\"a\" 1}", "p.json: this is not JSON: parse error at line 2, column 5"},
      {"{\"a\": \"\xff\"}", "p.json: this is not JSON: parse error"},
      {R"({"inputs": {"A": [1e999]}})", "p.json: this is not JSON"},
      {std::string(100, '[') + std::string(100, ']'), "p.json: the values are nested too deep"},
      {"[]", "p.json: [] is not an object"},
      {R"({"inputs": {"A": [2], "A": [3]}})", "p.json: an object has the member \"A\" twice"},
      {"{}", "p.json: there is no \"inputs\"; add it"},
      {R"({"inputs": {}})", "p.json: there is no \"statements\"; add it"},
      {R"({"inputs": {}, "statements": []})", "p.json: statements: there is no statement"},
      {R"({"input": {}})", "p.json: \"input\" means nothing here; the members are inputs, "},
      {R"({"inputs": [], "statements": []})", "p.json: inputs: [] is not an object"},
      {R"({"inputs": {"A": 4}, "statements": []})", "p.json: inputs.A: 4 is not a list"},
      {R"({"inputs": {"A": [4, 0]}})", "p.json: inputs.A[1]: 0 is not positive"},
      {R"({"inputs": {"A": [-4]}})", "p.json: inputs.A[0]: -4 is not positive"},
      {R"({"inputs": {"A": [2.5]}})", "p.json: inputs.A[0]: 2.5 is not a whole number"},
      {R"({"inputs": {"A": [4.0]}})", "p.json: inputs.A[0]: 4.0 is not a whole number"},
      {R"({"inputs": {"A": ["4"]}})", "p.json: inputs.A[0]: \"4\" is not a whole number"},
      {R"({"inputs": {"A": [18446744073709551615]}})", "is not a whole number of 64 bits"},
      {R"({"inputs": {"A": [99999999999999999999]}})", "is not a whole number of 64 bits"},
      {R"({"inputs": {"A": [4294967296, 4294967296]}})",
       "p.json: inputs.A: tensor A of 4294967296 x 4294967296 has more elements than are counted"},
      {R"({"inputs": {"A": [1, 1, 1, 1, 1, 1, 1, 1, 1]}})",
       "p.json: inputs.A: tensor A has rank 9"},
      {R"({"inputs": {"": [1]}})", "p.json: inputs[\"\"]: the text is empty"},
      {R"({"inputs": {"a\nb": [1]}})",
       "p.json: inputs[\"a\\nb\"]: \"a\\nb\" has a control character"},
      {program("7"), "p.json: statements[0]: 7 is not an object"},
      {program("{}"), "p.json: statements[0]: there is no \"name\"; add it"},
      {program(R"({"name": "C"})"), "p.json: statements[0]: there is no \"einsum\"; add it"},
      {program(R"({"name": 3})"), "p.json: statements[0].name: 3 is not text"},
      {program(R"({"name": "A"})"), "p.json: statements[0].name: there is a tensor \"A\" already"},
      {program(twice), "p.json: statements[1].name: there is a tensor \"C\" already"},
      {program(R"({"name": "C", "einsum": "ij,jk->ik"})"),
       "statements[0]: there is no \"operands\""},
      {program(R"({"name": "C", "einsum": ""})"), "statements[0].einsum: the text is empty"},
      {program(R"({"name": "C", "einsum": "i1->i"})"),
       "statements[0].einsum: character '1' at position 1 in \"i1->i\" is unknown"},
      {program(R"({"name": "C", "einsum": "(i)j->ij"})"),
       "statements[0].einsum: \"(i)j->ij\" has an index in parentheses"},
      {program(R"({"name": "C", "einsum": "i...->i"})"), "statements[0].einsum: ellipsis in"},
      {program(R"({"name": "C", "einsum": "ij->ii"})"), "label 'i' is repeated in the output"},
      {program(R"({"name": "C", "einsum": "ij->ix"})"),
       "statements[0].einsum: label 'x' in the output of \"ij->ix\" is in no operand"},
      {program(R"({"name": "C", "einsum": "a,b,c,d,e,f,g,h,i->"})"), "has more than 8 operands"},
      {program(R"({"name": "C", "einsum": "ij,jk->ik", "operands": ["A"]})"),
       "p.json: statements[0].operands: 1 tensors for the 2 operands of \"ij,jk->ik\""},
      {program(R"({"name": "C", "einsum": "ij,jk->ik", "operands": "AB"})"),
       "p.json: statements[0].operands: \"AB\" is not a list"},
      {program(R"({"name": "C", "einsum": "ij,jk->ik", "operands": ["A", 2]})"),
       "p.json: statements[0].operands[1]: 2 is not text"},
      {program(R"({"name": "C", "einsum": "ij,jk->ik", "operands": ["A", "D"]})"),
       "p.json: statements[0].operands[1]: there is no tensor \"D\"; name an input or a statement"},
      {program(R"({"name": "C", "einsum": "ij->ij", "operands": ["C"]})"),
       "p.json: statements[0].operands[0]: a statement reads its own result (a cycle)"},
      {program(R"({"name": "C", "einsum": "ij->ij", "operands": ["D"]},
                  {"name": "D", "einsum": "ij->ij", "operands": ["A"]})"),
       "p.json: statements[0].operands[0]: \"D\" is written only later, by statements[1]"},
      {program(R"({"name": "C", "einsum": "ij->ij", "operands": ["D"]},
                  {"name": "D", "einsum": "ij->ij", "operands": ["E"]},
                  {"name": "E", "einsum": "ij->ij", "operands": ["C"]})"),
       "p.json: statements[0].operands[0]: \"D\" (statements[1]) depends on this statement's own "
       "result (a cycle)"},
      {program(R"({"name": "C", "einsum": "i,jk->ik", "operands": ["A", "B"]})"),
       "p.json: statements[0].einsum: tensor A has rank 2 and 1 labels in A(i)"},
      {program(R"({"name": "C", "einsum": "ij,kj->ik", "operands": ["A", "B"]})"),
       "p.json: statements[0].einsum: label 'j' is 6 in A(i,j) and 8 in B(k,j)"},
      {program(product(R"(, "joim": "mul")")),
       "p.json: statements[0]: \"joim\" means nothing here"},
      {program(product(R"(, "join": 1)")), "p.json: statements[0].join: 1 is not text"},
      {program(product(R"(, "join": "")")), "p.json: statements[0].join: the text is empty"},
      {program(product(R"(, "join": "exp")")),
       "p.json: statements[0].join: the join exp of 2 operands (it takes 1)"},
      {program(R"({"name": "C", "einsum": "ij->ij", "operands": ["A"], "join": "mul"})"),
       "p.json: statements[0].join: the join mul of 1 operands (it takes 2 or more)"},
      {program(R"({"name": "C", "einsum": "ij,ij,ij->ij", "operands": ["A", "A", "A"],
                   "join": "sub"})"),
       "p.json: statements[0].join: the join sub of 3 operands (it takes 2)"},
      {program(product(R"(, "aggregate": true)")), "statements[0].aggregate: true is not text"},
      {program(R"({"name": "C", "einsum": "ij->", "operands": ["A"], "aggregate": "argmin"})"),
       "p.json: statements[0].aggregate: argmin over 2 labels (it gives an index along one label)"},
      {program(R"({"name": "C", "einsum": "ij->ij", "operands": ["A"], "aggregate": "median"})"),
       "p.json: statements[0].aggregate: \"ij->ij\" aggregates nothing (its output has all "
       "labels); "
       "leave this out"},
      {program(product(R"(, "elementwise": true)")),
       "p.json: statements[0].elementwise: \"ij,jk->ik\" aggregates 1 of its labels"},
      {program(product(R"(, "elementwise": "no")")),
       "p.json: statements[0].elementwise: \"no\" is not true or false"},
      {program(product(), R"(, "roles": {"x": "batch"})"),
       "p.json: roles.x: no statement has a label \"x\""},
      {program(product(), R"(, "roles": {"i": 4})"), "p.json: roles.i: 4 is not text"},
      {program(product(), R"(, "roles": ["i"])"), "p.json: roles: [\"i\"] is not an object"},
      {program(product(), R"(, "uncut": "i")"), "p.json: uncut: \"i\" is not a list"},
      {program(product(), R"(, "uncut": ["i", "x"])"),
       "p.json: uncut[1]: no statement has a label"},
      {program(product(), R"(, "uncut": ["i", "i"])"),
       "p.json: uncut[1]: \"i\" is in the list twice"},
      {program(product(), R"(, "layout": {"D": [1, 1]})"), "p.json: layout.D: there is no tensor"},
      {program(product(), R"(, "layout": {"C": [1, 1]})"),
       "p.json: layout.C: \"C\" is a statement"},
      {program(product(), R"(, "layout": {"A": [1]})"),
       "p.json: layout.A: 1 numbers for 2 dimensions"},
      {program(product(), R"(, "layout": {"A": [1, 7]})"),
       "p.json: layout.A[1]: 7 parts of a dimension of extent 6; give 1 to 6"},
      {program(product(), R"(, "layout": {"A": [0, 1]})"),
       "p.json: layout.A[0]: 0 is not positive"},
      {R"({"inputs": {"A": [4294967296], "B": [4294967296]}, "statements": [
          {"name": "C", "einsum": "i,j->ij", "operands": ["A", "B"]}]})",
       "p.json: statements[0].einsum: tensor C of 4294967296 x 4294967296 has more elements"},
      {R"({"inputs": {"A": [4294967296], "B": [4294967296]}, "statements": [
          {"name": "C", "einsum": "i,j->", "operands": ["A", "B"]}]})",
       "p.json: statements[0].einsum: the statement has more scalar operations than a 64-bit"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const std::string message = program_complaint(c.text);
    CAPTURE(message);
    CHECK(message.find(c.message) != std::string::npos);
    CHECK(message.rfind("p.json: ", 0) == 0);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() < 400);
  }
}

TEST_CASE("a program whose words cannot be counted is refused") {
  const EinGraph graph = read_program(R"({"inputs": {"A": [1125899906842624]}, "statements": [
      {"name": "C", "einsum": "i->i", "operands": ["A"]}]})",
                                      "p.json")
                             .graph;
  CHECK_NOTHROW(check_countable(graph, 1024, "p.json"));
  CHECK_THROWS_WITH_AS(check_countable(graph, 65536, "p.json"),
                       doctest::Contains("p.json: with tensor A the plan may move more"), Error);
}

TEST_CASE("tensors that are put together from blocks") {
  const auto put = [](const std::string& more) {
    return program(product() + R"(, {"name": "Z", "blocks": "ik", )" + more + "}");
  };
  const JsonProgram read =
      read_program(put(R"("extents": [10, 8], "operands": ["C", "B"], "at": [[0, 0], [4, 0]]},
                          {"name": "m", "einsum": "ik->i", "operands": ["Z"], "aggregate": "argmax"},
                          {"name": "W", "blocks": "i", "extents": [21], "operands": ["m"],
                           "at": [[1]], "steps": [[2]], "between": -1)"),
                   "p.json");
  CHECK(to_text(read.graph) ==
        "A(4,6) : float, input\n"
        "B(6,8) : float, input\n"
        "C(i,k) = sum[j] mul(A(i,j), B(j,k)) : float, i=4 j=6 k=8\n"
        "Z(i,k) = blocks(C(i,k), B(i - 4,k)) : float, i=10 k=8\n"
        "m(i) = argmax[k] Z(i,k) : int64, i=10 k=8\n"
        "W(i) = blocks(m(whole(i - 1, 2)), else -1) : int64, i=21\n");
  struct Case {
    std::string more;
    std::string message;
  };
  const std::string whole = R"("extents": [10, 8], "operands": ["C", "B"], )";
  const std::vector<Case> cases{
      {whole + R"("at": [[0, 0], [3, 0]])",
       "statements[1].blocks: blocks Z(i,k) and Z(i + 3,k) both have element (3,0)"},
      {whole + R"("at": [[0, 0], [5, 0]])",
       "statements[1].blocks: block Z(i + 5,k) goes from 5 to 10 in dimension 0 of Z"},
      {whole + R"("at": [[0, 0]])", "statements[1].at: 1 lists for 2 operands; give one for each"},
      {whole + R"("at": [[0, 0], [4]])", "statements[1].at[1]: 1 numbers for 2 labels"},
      {whole + R"("at": [[0, 0], [4, 0.5]])", "statements[1].at[1][1]: 0.5 is not a whole number"},
      {whole + R"("at": [[0, 0], [4, -9223372036854775808]])",
       "statements[1].at[1][1]: -9223372036854775808 is negative; give a whole number from 0 on"},
      {whole + R"("at": [[0, 0], [4, 9223372036854775807]])",
       "statements[1].blocks: block Z(i + 4,k + 9223372036854775807) goes from"},
      {whole + R"("at": [[0, 0], [4, 0]], "steps": [[1, 1], [0, 1]])",
       "statements[1].steps[1][0]: 0 is not positive"},
      {whole + R"("at": [[0, 0], [4, 0]], "between": 1e300)",
       "statements[1].between: 1e+300 is none that an element can be (the blocks are of float)"},
      {whole + R"("at": [[0, 0], [4, 0]], "join": "add")",
       "statements[1]: \"join\" means nothing here; the members are name, blocks"},
      {R"("extents": [4], "operands": ["C"], "at": [[0, 0]])",
       "statements[1].extents: 1 numbers for 2 labels; give one for each"},
      {R"("extents": [4, 8], "operands": [], "at": [])",
       "statements[1].operands: there is no block; name one"},
      {R"("extents": [5, 8], "operands": ["C"], "at": [[0, 0]])",
       "statements[1].blocks: no block of Z has element (4,0) (Z is 5 x 8)"},
      {R"("extents": [4, 8], "operands": ["Z"], "at": [[0, 0]])",
       "statements[1].operands[0]: a statement reads its own result (a cycle)"},
      {R"("extents": [4, 8], "at": [[0, 0]])", "statements[1]: there is no \"operands\"; add it"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.more);
    const std::string message = program_complaint(put(c.more));
    CAPTURE(message);
    CHECK(message.rfind("p.json: " + c.message, 0) == 0);
  }
  CHECK(program_complaint(program(R"({"name": "Z", "blocks": "i+", "extents": [4, 6],
                                      "operands": ["A"], "at": [[0, 0]]})"))
            .rfind("p.json: statements[0].blocks: character '+' at position 1 in \"i+\" is unknown",
                   0) == 0);
  CHECK(
      program_complaint(put(R"("extents": [8, 8], "operands": ["C", "m"], "at": [[0, 0], [4, 0]])"))
          .find("there is no tensor \"m\"") != std::string::npos);
}
