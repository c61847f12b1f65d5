// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/safetensors_json.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <source_location>
#include <string>
#include <vector>

#include "support/messages.hpp"

using namespace eindecomp;
using eindecomp_tests::contains;
using eindecomp_tests::message_of;

namespace {

template <class T>
StoredTensor stored(const char* name, std::vector<Extent> bound, const std::vector<T>& elements) {
  StoredTensor tensor{name, element_type<T>(), std::move(bound), {}};
  tensor.bytes.resize(elements.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), elements.data(), tensor.bytes.size());
  return tensor;
}

class TemporaryFile {
 public:
  TemporaryFile()
      : m_path(std::filesystem::temp_directory_path() /
               ("eindecomp-" + std::to_string(std::random_device{}()) + ".safetensors")) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(m_path); }
  [[nodiscard]] const std::filesystem::path& path() const { return m_path; }
  [[nodiscard]] std::string content() const {
    std::ifstream file(m_path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& content) const {
    std::ofstream(m_path, std::ios::binary) << content;
  }
  /// A header, its length before it, and elements.
  void write(const std::string& header, const std::string& elements) const {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    write(length + header + elements);
  }

 private:
  std::filesystem::path m_path;
};

}  // namespace

TEST_CASE("safetensors are written as the format has them, and read back") {
  const TemporaryFile file;
  const Safetensors tensors{{stored<float>("W", {2, 3}, {1, 2, 3, 4, 5, 6}),
                             stored<double>("s", {}, {0.1}), stored<std::int32_t>("n", {1}, {7})},
                            {{"made by", "a test"}}};
  write_safetensors(file.path(), tensors);
  const std::string content = file.content();
  const std::string header =
      R"({"__metadata__":{"made by":"a test"},"W":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("s":{"dtype":"F64","shape":[],"data_offsets":[24,32]},)"
      R"("n":{"dtype":"I32","shape":[1],"data_offsets":[32,36]}})";
  CHECK(content.substr(8, header.size()) == header);
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(content[0]));
  CHECK(length % 8 == 0);
  CHECK(content.size() == 8 + length + 36);
  const Safetensors read = read_safetensors(file.path());
  CHECK(read.tensors == tensors.tensors);
  CHECK(read.metadata == tensors.metadata);
}

TEST_CASE("safetensors of 16 bits are the format's F16 and BF16") {
  const TemporaryFile file;
  file.write(R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
             R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]}})",
             std::string("\x66\x2e\x00\xc0\xcd\x3d\x49\x40", 8));
  const Safetensors read = read_safetensors(file.path());
  CHECK(read.tensors ==
        std::vector<StoredTensor>{stored<float16>("h", {2}, {float16(0.1), float16(-2)}),
                                  stored<bfloat16>("b", {2}, {bfloat16(0.1), bfloat16(3.14159)})});
  write_safetensors(file.path(), read);
  CHECK(read_safetensors(file.path()).tensors == read.tensors);
}

TEST_CASE("boxes of one tensor of a file of safetensors are read and written") {
  const TemporaryFile file;
  write_safetensors(
      file.path(),
      {{stored<double>("s", {}, {0.1}), stored<float>("W", {2, 3}, {1, 2, 3, 4, 5, 6})}, {}});
  const SafetensorsFile W(file.path(), "W");
  const StoredShape shape{element_type<float>(), {2, 3}};
  CHECK(W.shape() == shape);
  std::vector<float> box(2);
  W.read(shape, {{0, 2}, {2, 3}}, box.data());
  CHECK(box == std::vector<float>{3, 6});
  CHECK(contains(message_of([&] { (void)SafetensorsFile(file.path(), "V").shape(); }),
                 file.path().string() + ": the file has no tensor V (it has s, W)"));
  CHECK(contains(message_of([&] {
                   W.read({shape.element, {3, 2}}, {{0, 0}, {1, 1}}, box.data());
                 }),
                 file.path().string() + ": W: the file has changed"));

  const auto where = std::source_location::current();
  const PartialFile partial = W.begin(shape, where);
  const std::vector<float> rows{7, 8, 9};
  for (const Extent i : {1, 0}) W.write(partial, shape, {{i, 0}, {i + 1, 3}}, rows.data(), where);
  W.finish(partial, where);
  CHECK(read_safetensors(file.path()).tensors ==
        std::vector<StoredTensor>{stored<float>("W", {2, 3}, {7, 8, 9, 7, 8, 9})});
}

TEST_CASE("a checkpoint comes back bit for bit") {
  const TemporaryFile file;
  const Checkpoint made{1234, {stored<double>("W", {2}, {0.1, -0.0})}};
  write_checkpoint(file.path(), made);
  CHECK(read_checkpoint(file.path()) == made);
  write_safetensors(file.path(), {made.tensors, {}});
  CHECK(contains(message_of([&] { (void)read_checkpoint(file.path()); }),
                 "the metadata have no number of steps (it is no checkpoint)"));
}

TEST_CASE("metadata are any text, tensors all their bytes, names UTF-8") {
  const TemporaryFile file;
  const Safetensors made{{stored<float>("W", {1}, {1})}, {{"note", "two\nlines"}, {"none", ""}}};
  write_safetensors(file.path(), made);
  CHECK(read_safetensors(file.path()).metadata == made.metadata);
  const std::string before = file.content();
  StoredTensor cut = made.tensors[0];
  cut.bytes.pop_back();
  CHECK(contains(message_of([&] {
                   write_safetensors(file.path(), {{cut}, {}});
                 }),
                 "tensor W of extents 1 has 3 bytes of elements (4 are wanted, 4 each)"));
  CHECK(contains(message_of([&] { write_checkpoint(file.path(), {3, {cut}}); }), "has 3 bytes"));
  CHECK(contains(message_of([&] {
                   write_safetensors(file.path(), {{stored<float>("W\xff", {1}, {1})}, {}});
                 }),
                 "cannot write safetensors (a name or a text in it is not UTF-8"));
  CHECK(file.content() == before);
  // A tensor without elements, where another begins.
  file.write(R"({"b":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
             R"("none":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}})",
             std::string("\7\0\0\0", 4));
  std::int32_t read = 0;
  const SafetensorsFile b(file.path(), "b");
  b.read(b.shape(), Box::whole({1}), &read);
  CHECK(read == 7);
}

TEST_CASE("a tensor is read beside others that cannot be") {
  const TemporaryFile file;
  file.write(R"({"mask":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},)"
             R"("none":{"dtype":"F64","shape":[0,2],"data_offsets":[3,3]},)"
             R"("n":{"dtype":"I32","shape":[1],"data_offsets":[3,7]}})",
             std::string("abc\7\0\0\0", 7));
  const SafetensorsFile n(file.path(), "n");
  CHECK(n.shape().bound == std::vector<Extent>{1});
  std::int32_t read = 0;
  n.read(n.shape(), Box::whole({1}), &read);
  CHECK(read == 7);
  CHECK(contains(message_of([&] { (void)SafetensorsFile(file.path(), "mask").shape(); }),
                 "tensor mask: BOOL is no type of elements known here"));
  CHECK(contains(message_of([&] { (void)SafetensorsFile(file.path(), "none").shape(); }),
                 "tensor none: it has no elements"));
}

TEST_CASE("what is no file of safetensors is refused in one sentence that begins with its path") {
  const TemporaryFile file;
  const auto message = [&] {
    const std::string said = message_of([&] { (void)read_safetensors(file.path()); });
    CHECK(contains(said, file.path().string() + ": "));
    return said;
  };
  CHECK(contains(message(), "the file cannot be read"));
  file.write("short");
  CHECK(contains(message(), "the file ends before its header does"));
  file.write("{]", "");
  CHECK(contains(message(), "this is not JSON"));
  file.write(std::string("{}\0 and more", 12), "");
  CHECK(contains(message(), "this is not JSON: it has a byte 0"));
  std::ofstream(file.path(), std::ios::binary) << std::string("\x01\xE1\xF5\x05\0\0\0\0", 8);
  std::filesystem::resize_file(file.path(), 100'000'009);
  CHECK(contains(message(), "its header has 100000001 bytes, and those of safetensors at most"));
  file.write(R"({"W":{"dtype":"U16","shape":[1],"data_offsets":[0,2]}})", "ab");
  CHECK(contains(message(), "tensor W: U16 is no type of elements known here (F16, BF16, F32, "));
  file.write(R"({"W":{"dtype":"U16","shape":[1],"data_offsets":[0,3]}})", "ab");
  CHECK(contains(message(), "the file 2 of elements, which the offsets do not fit"));
  file.write(R"({"W":{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]}})", "");
  CHECK(contains(message(), "tensor W: it has no elements, which tensors have here"));
  file.write(R"({"W":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd");
  CHECK(contains(message(), "an extent is negative"));
  file.write(R"({"W":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "abcd");
  CHECK(contains(message(), "the tensor has 8 bytes and the file 4 of elements"));
  file.write(R"({"W":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "abcdefgh");
  CHECK(contains(message(), "tensor W begins at byte 4"));
  file.write(R"({"W":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "abcdefgh");
  CHECK(contains(message(), "there are 8 bytes of elements and the header speaks of 4"));
  file.write(R"({"W":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,4]}})",
             "abcd");
  CHECK(contains(message(), "more bytes than 64 bits count"));
  file.write(R"({"W":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "abcd");
  CHECK(contains(message(), "there are two offsets"));

  StoredTensor complex{"Z", element_type<std::complex<double>>(), {1}, std::string(16, '\0')};
  CHECK(contains(message_of([&] {
                   write_safetensors(file.path(), {{complex}, {}});
                 }),
                 "tensor Z has elements complex<double>"));
  const StoredTensor twice = stored<float>("W", {1}, {1});
  CHECK(contains(message_of([&] {
                   write_safetensors(file.path(), {{twice, twice}, {}});
                 }),
                 "two tensors are called W"));
  CHECK(contains(message_of([&] {
                   write_safetensors(file.path(), {{stored<float>("__metadata__", {1}, {1})}, {}});
                 }),
                 "a tensor is called __metadata__ (the format has texts under that name)"));
  CHECK(contains(message_of([&] {
                   write_safetensors("/nowhere/at/all", {{twice}, {}});
                 }),
                 "cannot write tensors to /nowhere/at/all"));
}
