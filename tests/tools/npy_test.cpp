// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/npy.hpp"

#include <doctest/doctest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

using namespace eindecomp;
using eindecomp_tests::contains;
using eindecomp_tests::message_of;
using eindecomp_tests::TemporaryFolder;

namespace {

/// The bytes of text that has them as hexadecimal digits.
std::string bytes_of(const char* digits) {
  std::string bytes;
  for (const char* at = digits; *at != '\0'; at += 2) {
    bytes += static_cast<char>(std::stoi(std::string(at, 2), nullptr, 16));
  }
  return bytes;
}

template <class T>
StoredTensor npy_tensor(std::vector<Extent> bound, const std::vector<T>& elements) {
  StoredTensor tensor{"x", element_type<T>(), std::move(bound), {}};
  tensor.bytes.resize(elements.size() * sizeof(T));
  if (!elements.empty()) std::memcpy(tensor.bytes.data(), elements.data(), tensor.bytes.size());
  return tensor;
}

class NpyFolder {
 public:
  [[nodiscard]] std::string path() const { return (m_folder / "x.npy").string(); }
  void write(const std::string& content) const {
    std::ofstream(path(), std::ios::binary) << content;
  }
  /// Of version 1.0, with the header as given.
  void write(const std::string& header, const std::string& elements) const {
    const std::string length{static_cast<char>(header.size() & 0xFFU),
                             static_cast<char>(header.size() >> 8)};
    write(std::string("\x93NUMPY\1\0", 8) + length + header + elements);
  }
  [[nodiscard]] std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::ptrdiff_t files() const { return m_folder.files(); }

 private:
  TemporaryFolder m_folder;
};

}  // namespace

// As np.lib.format.write_array of NumPy 2.4.6 writes them, but for fewer blanks in the headers.
TEST_CASE("files of NumPy's are read, of every version, type and order") {
  const NpyFolder folder;
  folder.write(
      bytes_of("934e554d505901003c007b276465736372273a20273c6634272c2027666f727472616e5f6f726465"
               "72273a2046616c73652c20277368617065273a2028322c2033292c207d0a0000803f000000400000"
               "4040000080400000a0400000c040"));
  CHECK(read_npy(folder.path()) == npy_tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  folder.write(
      bytes_of("934e554d505902003b0000007b276465736372273a20273c6638272c2027666f727472616e5f6f72"
               "646572273a20547275652c20277368617065273a2028322c2033292c207d0a000000000000f03f00"
               "000000000010400000000000000040000000000000144000000000000008400000000000001840"));
  CHECK(read_npy(folder.path()) == npy_tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6}));
  folder.write(
      bytes_of("934e554d505901003b007b276465736372273a20273c6934272c2027666f727472616e5f6f726465"
               "72273a20547275652c20277368617065273a2028322c2032292c207d0a0100000004000000020000"
               "0005000000"));
  CHECK(read_npy(folder.path()) == npy_tensor<std::int32_t>({2, 2}, {1, 2, 4, 5}));
  folder.write(
      bytes_of("934e554d50590300380000007b276465736372273a20273c6938272c2027666f727472616e5f6f72"
               "646572273a2046616c73652c20277368617065273a2028292c207d0afdffffffffffffff"));
  CHECK(read_npy(folder.path()) == npy_tensor<std::int64_t>({}, {-3}));
  folder.write(
      bytes_of("934e554d505901003b007b276465736372273a20277c6231272c2027666f727472616e5f6f726465"
               "72273a20547275652c20277368617065273a2028322c2033292c207d0a000100010001"));
  CHECK(read_npy(folder.path()) == npy_tensor<std::int32_t>({2, 3}, {0, 0, 0, 1, 1, 1}));
  folder.write(
      bytes_of("934e554d505901003a007b276465736372273a20277c7531272c2027666f727472616e5f6f726465"
               "72273a2046616c73652c20277368617065273a2028322c292c207d0a00ff"));
  CHECK(read_npy(folder.path()) == npy_tensor<std::int32_t>({2}, {0, 255}));
  folder.write(
      bytes_of("934e554d505901003a007b276465736372273a20273c6338272c2027666f727472616e5f6f726465"
               "72273a2046616c73652c20277368617065273a2028312c292c207d0a0000803f00000040"));
  CHECK(read_npy(folder.path()) == npy_tensor<std::complex<float>>({1}, {{1, 2}}));
  folder.write(
      bytes_of("934e554d505903003d0000007b276465736372273a20273c633136272c2027666f727472616e5f6f"
               "72646572273a2046616c73652c20277368617065273a2028312c2031292c207d0a000000000000f0"
               "3f00000000000000c0"));
  CHECK(read_npy(folder.path()) == npy_tensor<std::complex<double>>({1, 1}, {{1, -2}}));
  folder.write(
      bytes_of("934e554d505901003a007b276465736372273a20273c6632272c2027666f727472616e5f6f726465"
               "72273a2046616c73652c20277368617065273a2028322c292c207d0a662efffb"));
  CHECK(read_npy(folder.path()) == npy_tensor<float16>({2}, {float16(0.1), float16(-65504)}));
}

TEST_CASE("unsigned bytes are read as such where they are asked for, truth values are not") {
  const NpyFolder file;
  const ElementType bytes = element_type<std::uint8_t>();
  // np.array([[1, 200], [3, 255]], np.uint8)
  const std::string elements = {'\x01', '\xC8', '\x03', '\xFF'};
  file.write("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }", elements);
  const NpyFile found(file.path());
  CHECK(found.shape() == StoredShape{element_type<std::int32_t>(), {2, 2}});
  CHECK(found.shape_for(element_type<float>()) == found.shape());
  REQUIRE(found.shape_for(bytes) == StoredShape{bytes, {2, 2}});
  std::uint8_t row[2];
  found.read({bytes, {2, 2}}, {{1, 0}, {2, 2}}, row);
  CHECK(row[0] == 200);
  CHECK(row[1] == 255);
  std::int32_t wide[2];
  found.read(found.shape(), {{1, 0}, {2, 2}}, wide);
  CHECK(wide[1] == 255);
  write_npy(file.path(), npy_tensor<std::uint8_t>({3}, {7, 8, 255}));
  CHECK(contains(file.content(), "'descr': '|u1'"));
  CHECK(file.content().ends_with("\x07\x08\xFF"));
  file.write("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2), }", elements);
  CHECK(found.shape_for(bytes).element == element_type<std::int32_t>());
}

TEST_CASE_TEMPLATE("integers of all sizes are read and written under NumPy's names", T, std::int8_t,
                   std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  const NpyFolder folder;
  constexpr int bytes = sizeof(T);
  const std::string name = (bytes == 1 ? "|" : "<") + std::string(std::is_signed_v<T> ? "i" : "u") +
                           std::to_string(bytes);
  const auto made = npy_tensor<T>({2}, {std::numeric_limits<T>::min(), T(1)});
  folder.write("{'descr': '" + name + "', 'fortran_order': False, 'shape': (2,), }", made.bytes);
  CHECK(read_npy(folder.path()) == made);
  write_npy(folder.path(), made);
  CHECK(contains(folder.content(), "'descr': '" + name + "'"));
  CHECK(read_npy(folder.path()) == made);
}

TEST_CASE("a stored tensor's elements are seen as what they are, and as nothing else") {
  const StoredTensor x = npy_tensor<float>({2, 2}, {1, 2, 3, 4});
  const std::span<const float> elements = x.elements<float>();
  CHECK(std::vector<float>(elements.begin(), elements.end()) == std::vector<float>{1, 2, 3, 4});
  const std::string said = message_of([&] { (void)x.elements<double>(); });
  CHECK(contains(said, "tensor x is of float and is read as double"));
  CHECK(contains(said, "npy_test.cpp"));
}

TEST_CASE("what is written is what NumPy writes, and read back as it was") {
  const NpyFolder folder;
  const StoredTensor made = npy_tensor<double>({2, 1}, {0.1, -0.0});
  write_npy(folder.path(), made);
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }";
  header.resize(117, ' ');
  CHECK(folder.content() == std::string("\x93NUMPY\1\0\x76\0", 10) + header + '\n' + made.bytes);
  CHECK(read_npy(folder.path()) == made);
  write_npy(folder.path(), npy_tensor<float>({3}, {1, 2, 3}));
  CHECK(contains(folder.content(), "'shape': (3,), }"));
  write_npy(folder.path(), npy_tensor<std::int64_t>({}, {7}));
  CHECK(contains(folder.content(), "'descr': '<i8', 'fortran_order': False, 'shape': (), }"));
  write_npy(folder.path(), npy_tensor<float16>({2}, {float16(1), float16(-2)}));
  CHECK(contains(folder.content(), "'descr': '<f2'"));
  CHECK(folder.content().ends_with(std::string("\n\x00\x3c\x00\xc0", 5)));
  CHECK(contains(
      message_of([&] { write_npy(folder.path(), npy_tensor<bfloat16>({1}, {bfloat16(1)})); }),
      "elements of bfloat16 cannot be written to " + folder.path() +
          " (NumPy has no such type); convert them by cast"));
  CHECK(contains(message_of([&] {
                   write_npy(folder.path(), {"s", {ElementKind::other, 3}, {1}, {"abc"}});
                 }),
                 "elements of a 3-byte type cannot be written to " + folder.path() +
                     " (NumPy has no such type); write each member as a result of its own, "
                     "map(f, X(i))"));
  CHECK(folder.files() == 1);
}

TEST_CASE("a box is read and written by its place in the file") {
  const NpyFolder folder;
  constexpr std::array<Extent, 3> bound{4, 5, 6};
  std::vector<std::int32_t> all;
  for (std::int32_t n = 0; n < 4 * 5 * 6; ++n) all.push_back(n);
  const NpyFile file(folder.path());
  const StoredShape shape{element_type<std::int32_t>(), {4, 5, 6}};
  const auto value = [](Extent i, Extent j, Extent k) {
    return static_cast<std::int32_t>((i * 5 + j) * 6 + k);
  };
  // Every box of the tensor is written alone, then read.
  std::string elements(all.size() * 4, '\0');
  for (std::size_t n = 0; n < all.size(); ++n) {  // in Fortran's order
    const auto e = static_cast<Extent>(n);
    const std::int32_t x = value(e % bound[0], e / bound[0] % bound[1], e / bound[0] / bound[1]);
    std::memcpy(&elements[n * 4], &x, 4);
  }
  const NpyFolder other;
  other.write("{'descr': '<i4', 'fortran_order': True, 'shape': (4, 5, 6)}", elements);
  const PartialFile partial = file.begin(shape, std::source_location::current());
  int wrong = 0;
  const auto for_each_interval = [](Extent extent, const auto& visit) {
    for (Extent lo = 0; lo < extent; ++lo) {
      for (Extent hi = lo + 1; hi <= extent; ++hi) visit(lo, hi);
    }
  };
  write_npy(folder.path(), npy_tensor<std::int32_t>({4, 5, 6}, all));
  for_each_interval(4, [&](Extent i0, Extent i1) {
    for_each_interval(5, [&](Extent j0, Extent j1) {
      for (const auto& [k0, k1] : {std::array<Extent, 2>{0, 6}, {0, 1}, {2, 5}, {5, 6}}) {
        const Box box{{i0, j0, k0}, {i1, j1, k1}};
        std::vector<std::int32_t> expected;
        for (Extent i = i0; i < i1; ++i) {
          for (Extent j = j0; j < j1; ++j) {
            for (Extent k = k0; k < k1; ++k) expected.push_back(value(i, j, k));
          }
        }
        for (const NpyFile& from : {file, NpyFile(other.path())}) {
          std::vector<std::int32_t> read(expected.size(), -1);
          from.read(shape, box, read.data());
          wrong += read == expected ? 0 : 1;
        }
        file.write(partial, shape, box, expected.data(), std::source_location::current());
      }
    });
  });
  CHECK(wrong == 0);
  file.finish(partial, std::source_location::current());
  CHECK(read_npy(folder.path()) == npy_tensor<std::int32_t>({4, 5, 6}, all));
}

TEST_CASE("what is no .npy file, or has no numbers, is refused in a sentence that names it") {
  const NpyFolder folder;
  const auto message = [&] {
    const std::string said = message_of([&] { (void)read_npy(folder.path()); });
    CHECK(contains(said, folder.path() + ": "));
    return said;
  };
  const auto of_header = [&](const std::string& header) {
    folder.write(header, std::string(16, '\0'));
    return message();
  };
  CHECK(contains(message(), "the file cannot be read"));
  folder.write("\x89PNG and so on");
  CHECK(contains(message(), "this is no .npy file"));
  folder.write(std::string("\x93NUMPY\4\0\0\0", 10));
  CHECK(contains(message(), "of version 4.0 of the format"));
  folder.write(std::string("\x93NUMPY\1\0\x76\0{", 11));
  CHECK(contains(message(), "ends before its header does"));
  folder.write(std::string("\x93NUMPY\2\0\xFF\xFF\xFF\xFF{", 13));
  CHECK(contains(message(), "ends before its header does"));
  folder.write(std::string("\x93NUMPY\2\0\0\0\x20\0{", 13));
  std::filesystem::resize_file(folder.path(), 3 << 20);
  CHECK(contains(message(), "the header of the .npy file has 2097152 bytes"));
  CHECK(contains(of_header("{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }"),
                 "its elements are '>f8', with the highest byte first"));
  CHECK(contains(of_header("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"),
                 "pickled objects that Python alone can read"));
  CHECK(contains(of_header("{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }"),
                 "its elements are '<f16' (float16, float32, "));
  CHECK(contains(
      of_header("{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (2,), }"),
      "records of several fields"));
  CHECK(contains(of_header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"),
                 "the file has 16 bytes of elements and its array 24 (it is cut short)"));
  CHECK(contains(of_header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }"),
                 "dimension 0 of the array has extent 0"));
  CHECK(contains(
      of_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }"),
      "the array has 9 dimensions (a tensor has at most 8)"));
  CHECK(contains(of_header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999, "
                           "99999999999999999), }"),
                 "more bytes than 64 bits count"));
  for (const char* header :
       {"", "{", "{}", "{'descr'}", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order: False}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} and more"}) {
    CAPTURE(header);
    CHECK(contains(of_header(header), "the header of the .npy file is not as the format has it"));
  }
}

TEST_CASE("what cannot be written to a .npy file is refused, and nothing is left of it") {
  const NpyFolder folder;
  const StoredTensor of_bytes{"x", {ElementKind::other, 3}, {1}, "abc"};
  CHECK(contains(message_of([&] { write_npy(folder.path(), of_bytes); }),
                 "elements of a 3-byte type cannot be written to " + folder.path()));
  CHECK(contains(message_of([&] { write_npy("/nowhere/at/all.npy", npy_tensor<float>({1}, {1})); }),
                 "cannot write a tensor to /nowhere/at/all.npy"));
  CHECK(contains(message_of([&] {
                   write_npy(folder.path(), npy_tensor<float>({3}, {1, 2}));
                 }),
                 "tensor x of extents 3 has 8 bytes of elements (12 are wanted, 4 each)"));
  CHECK(contains(message_of([&] { write_npy(folder.path(), npy_tensor<float>({0}, {})); }),
                 "tensor x has extents 0 (up to 8 positive ones"));
  CHECK(folder.files() == 0);
  // Before its elements are written.
  std::filesystem::create_directory(folder.path());
  CHECK(contains(message_of([&] {
                   (void)NpyFile(folder.path())
                       .begin({element_type<float>(), {1}}, std::source_location::current());
                 }),
                 "cannot write a tensor to " + folder.path() + " (it is a folder)"));
  CHECK(folder.files() == 1);
  std::filesystem::remove(folder.path());
  // Another tensor is there by the time that it is read.
  write_npy(folder.path(), npy_tensor<float>({2}, {1, 2}));
  float one = 0;
  CHECK(contains(message_of([&] {
                   NpyFile(folder.path()).read({element_type<float>(), {3}}, {{0}, {1}}, &one);
                 }),
                 "the file has changed while it was read"));
}
