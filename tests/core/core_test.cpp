// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/static_vector.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/version.hpp"

namespace ein = eindecomp;
using ein::Text;

// --- Text ------------------------------------------------------------------------------------

static_assert(Text().empty());
static_assert(Text("abc").size() == 3);
static_assert(Text("ab") + "c" == "abc");
static_assert(Text("abc") != Text("abd"));
static_assert(Text("ab") < Text("abc") && Text("b") > Text("abc"));
static_assert(ein::core::to_text(0) == "0");
static_assert(ein::core::to_text(-7) == "-7");
static_assert(ein::core::to_text(120) == "120");
static_assert(ein::core::to_text(std::numeric_limits<std::int64_t>::max()) ==
              "9223372036854775807");
static_assert(ein::core::to_text(std::numeric_limits<std::int64_t>::min()) ==
              "-9223372036854775808");
// Short and long ones survive being moved and returned, which std::string does not in g++ 12.
static_assert([] {
  Text a("short");
  Text b = std::move(a);
  a = b + " and now long enough not to be held in place";
  std::swap(a, b);
  return a == "short" && b.size() == 49;
}());

TEST_CASE("text at run time") {
  Text text("a");
  text += "bc";
  text += 'd';
  CHECK(text == "abcd");
  CHECK(text == std::string("abcd"));
  CHECK(std::string(text) == "abcd");
  std::ostringstream stream;
  stream << text;
  CHECK(stream.str() == "abcd");
  text.assign("x");
  CHECK(text.str() == "x");
}

// --- fixed_string and static_vector ----------------------------------------------------------

static_assert(ein::fixed_string("ij,jk->ik").view() == "ij,jk->ik");
static_assert(ein::fixed_string("").size() == 0);
static_assert(ein::fixed_string("a") == ein::fixed_string("a"));

using Vector = ein::static_vector<int, 4>;
static_assert(Vector().empty() && Vector::capacity() == 4);
static_assert([] {
  const int items[] = {3, 1, 2};
  Vector v(items, items + 3);
  v[0] = 5;
  v.push_back(7);
  Vector same = v;
  const bool equal = same == v;
  same[3] = 8;
  int sum = 0;
  for (int x : v) sum += x;
  v.clear();
  return equal && !(same == v) && sum == 15 && v.empty();
}());
// What lies behind the end does not count.
static_assert([] {
  Vector a;
  Vector b;
  a.push_back(1);
  a.clear();
  return a == b;
}());
static_assert(std::is_trivially_copyable_v<Vector>);

// --- errors ----------------------------------------------------------------------------------

TEST_CASE("an error says what is wrong and where") {
  const auto line = __LINE__ + 1;
  const ein::Error error(ein::ErrorKind::shape, "label 'j' is 3 in X(i,j) (why); what to do");
  CHECK(std::string(error.what()) == "EinDecomp: label 'j' is 3 in X(i,j) (why); what to do [" +
                                         std::string(__FILE__) + ":" + std::to_string(line) + "]");
  CHECK(error.where().line() == static_cast<unsigned>(line));
  CHECK(error.kind() == ein::ErrorKind::shape);
}

TEST_CASE("an error without a place names none") {
  CHECK(std::string(ein::Error(ein::ErrorKind::shape, "lost", std::source_location()).what()) ==
        "EinDecomp: lost");
}

TEST_CASE("fail throws an Error") {
  CHECK_THROWS_WITH_AS(ein::core::fail(ein::ErrorKind::io, "no", std::source_location()),
                       "EinDecomp: no", ein::Error);
}

// --- sentences at compile time -----------------------------------------------------------------

constexpr Text no_fault() { return {}; }
constexpr Text some_fault() { return "a label is lost"; }
static_assert(ein::core::accept<no_fault>());
static_assert(ein::core::sentence_of<some_fault>().view() == "EinDecomp: a label is lost");
static_assert(ein::core::type_name<int>() == "int");

static_assert(EINDECOMP_VERSION == EINDECOMP_VERSION_MAJOR * 10000 + EINDECOMP_VERSION_MINOR * 100 +
                                       EINDECOMP_VERSION_PATCH);
#if EINDECOMP_VERSION < 1
#error "the version must be usable here"
#endif
