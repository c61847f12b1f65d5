// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/table.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace eindecomp::tools;

TEST_CASE("thousands are set apart") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(14680064) == "14,680,064");
  CHECK(grouped(-123) == "-123");
  CHECK(grouped(-123456) == "-123,456");
  CHECK(grouped(std::numeric_limits<eindecomp::Extent>::min()) == "-9,223,372,036,854,775,808");
  CHECK(counted(1, "rank") == "1 rank");
  CHECK(counted(1024, "rank") == "1,024 ranks");
}

TEST_CASE("bytes come in the unit that suits them") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1,023 B");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(1024 * 1024 - 1) == "1,024.0 KiB");
  CHECK(bytes_text(3LL << 30) == "3.0 GiB");
  CHECK(bytes_text(std::numeric_limits<std::int64_t>::max()) == "8,192.0 PiB");
}

TEST_CASE("columns are aligned, short rows allowed, lines end without blanks") {
  TextTable table("lrl", {"a", "number", "what"});
  table.add({"long name", "1", "x"});
  table.add({"b", "22"});
  CHECK(table.text() ==
        "a          number  what\n"
        "-----------------------\n"
        "long name       1  x\n"
        "b              22\n");
}
