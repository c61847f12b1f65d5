// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/hdf5.hpp"

#include <doctest/doctest.h>
#include <hdf5.h>
#include <sys/stat.h>

#include <complex>
#include <cstdint>
#include <fstream>
#include <source_location>
#include <string>
#include <vector>

#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

using namespace eindecomp;
using eindecomp_tests::contains;
using eindecomp_tests::message_of;
using eindecomp_tests::TemporaryFolder;

namespace {

/// Writes a dataset of 6 x 4 numbers 0, 1, … by the library alone, or of other extents.
class Hdf5Written {
 public:
  explicit Hdf5Written(const std::string& path)
      : m_file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  Hdf5Written(const Hdf5Written&) = delete;
  Hdf5Written& operator=(const Hdf5Written&) = delete;
  ~Hdf5Written() { H5Fclose(m_file); }

  void dataset(const char* name, hid_t type, bool chunked = false,
               const std::vector<hsize_t>& extents = {6, 4}) const {
    const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {4, 3};
    if (chunked) H5Pset_chunk(how, 2, chunk);
    if (chunked) H5Pset_shuffle(how);
    const hid_t made = H5Dcreate2(m_file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    std::vector<int> numbers(24);
    for (int n = 0; n < 24; ++n) numbers[static_cast<std::size_t>(n)] = n;
    if (extents == std::vector<hsize_t>{6, 4}) {
      H5Dwrite(made, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
    }
    H5Dclose(made);
    H5Pclose(how);
    H5Sclose(space);
  }

  void group(const char* name) const {
    H5Gclose(H5Gcreate2(m_file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  /// Gives an object an attribute.
  void attribute(const char* object) const {
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Aclose(H5Acreate_by_name(m_file, object, "units", H5T_NATIVE_INT, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  }

 private:
  hid_t m_file;
};

template <class T>
std::vector<T> read_box_of(const Hdf5File& file, const Box& box) {
  std::vector<T> elements(static_cast<std::size_t>(box.size()));
  file.read({element_type<T>(), {6, 4}}, box, elements.data());
  return elements;
}

}  // namespace

TEST_CASE("boxes of datasets are read, of every layout, type and order of bytes") {
  const TemporaryFolder folder;
  const std::string path = (folder / "x.h5").string();
  {
    const Hdf5Written made(path);
    made.dataset("f8", H5T_IEEE_F64LE);
    made.dataset("big", H5T_IEEE_F32BE);
    made.dataset("chunks", H5T_STD_I64LE, true);
    made.dataset("bytes", H5T_STD_U8LE);
    made.dataset("words", H5T_STD_U32LE);
    // As h5py makes its float16, here with the highest byte first.
    const hid_t half = H5Tcopy(H5T_IEEE_F32BE);
    H5Tset_fields(half, 15, 10, 5, 0, 10);
    H5Tset_size(half, 2);
    H5Tset_ebias(half, 15);
    made.dataset("f2", half);
    H5Tclose(half);
    const hid_t complex = H5Tcreate(H5T_COMPOUND, 16);
    H5Tinsert(complex, "r", 0, H5T_IEEE_F64BE);
    H5Tinsert(complex, "i", 8, H5T_IEEE_F64BE);
    made.dataset("c16", complex, false, {2});
    H5Tclose(complex);
  }
  const Box box{{4, 1}, {6, 4}};
  CHECK(read_box_of<double>({path, "f8"}, box) == std::vector<double>{17, 18, 19, 21, 22, 23});
  CHECK(read_box_of<float>({path, "big"}, box) == std::vector<float>{17, 18, 19, 21, 22, 23});
  CHECK(read_box_of<std::int64_t>({path, "/chunks"}, box) ==
        std::vector<std::int64_t>{17, 18, 19, 21, 22, 23});
  CHECK(read_box_of<std::int32_t>({path, "bytes"}, {{0, 3}, {2, 4}}) ==
        std::vector<std::int32_t>{3, 7});
  // Unsigned bytes are read as such where they are asked for, other integers are not.
  const ElementType bytes = element_type<std::uint8_t>();
  CHECK(Hdf5File(path, "bytes").shape() == StoredShape{element_type<std::int32_t>(), {6, 4}});
  CHECK(Hdf5File(path, "bytes").shape_for(bytes) == StoredShape{bytes, {6, 4}});
  CHECK(Hdf5File(path, "words").shape_for(bytes).element == element_type<std::int64_t>());
  CHECK(read_box_of<std::uint8_t>({path, "bytes"}, {{0, 3}, {2, 4}}) ==
        std::vector<std::uint8_t>{3, 7});
  {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "c16", H5P_DEFAULT);
    const std::complex<double> numbers[] = {{1, 2}, {3, -4}};
    H5Dwrite(dataset, tools::hdf5_type(element_type<std::complex<double>>()).id(), H5S_ALL, H5S_ALL,
             H5P_DEFAULT, numbers);
    H5Dclose(dataset);
    H5Fclose(file);
  }
  const Hdf5File c16(path, "c16");
  CHECK(c16.shape().element == element_type<std::complex<double>>());
  std::vector<std::complex<double>> numbers(2);
  c16.read(c16.shape(), Box::whole({2}), numbers.data());
  CHECK(numbers == std::vector<std::complex<double>>{{1, 2}, {3, -4}});
  const std::vector<float16> halves = read_box_of<float16>({path, "f2"}, box);
  CHECK(std::vector<float>(halves.begin(), halves.end()) ==
        std::vector<float>{17, 18, 19, 21, 22, 23});
  CHECK(Hdf5File(path, "f2").shape() == StoredShape{element_type<float16>(), {6, 4}});
  CHECK(Hdf5File(path, "words").shape() == StoredShape{element_type<std::int64_t>(), {6, 4}});
}

TEST_CASE("a dataset is read as a whole into this process") {
  const TemporaryFolder folder;
  const std::string path = (folder / "x.h5").string();
  const auto message = [&](const char* dataset) {
    return message_of([&] { (void)read_hdf5(path, dataset); });
  };
  CHECK(contains(message("f4"), path + ": f4: there is no such file"));
  {
    const Hdf5Written made(path);
    made.dataset("f4", H5T_IEEE_F32BE);
    made.dataset("bytes", H5T_STD_U8LE, true);
    made.dataset("text", H5T_C_S1, false, {2});
  }
  const StoredTensor x = read_hdf5(path, "f4");
  CHECK(x.name == "f4");
  CHECK(x.bound == std::vector<Extent>{6, 4});
  REQUIRE(x.elements<float>().size() == 24);
  for (std::size_t n = 0; n < 24; ++n) CHECK(x.elements<float>()[n] == static_cast<float>(n));
  const StoredTensor bytes = read_hdf5(path, "bytes");
  CHECK(bytes.bound == x.bound);
  CHECK(bytes.elements<std::int32_t>()[23] == 23);
  CHECK(contains(message("f8"), path + ": f8: the file has no such dataset"));
  CHECK(contains(message("text"), "its elements are of a type that no tensor has"));
  CHECK(contains(message_of([&] { (void)x.elements<double>(); }),
                 "tensor f4 is of float and is read as double"));
}

TEST_CASE("datasets are written box by box, and read by the library") {
  const TemporaryFolder folder;
  const std::string path = (folder / "x.h5").string();
  const Hdf5File file(path, "fields/x");
  const StoredShape shape{element_type<double>(), {2, 3}};
  const auto where = std::source_location::current();
  const PartialFile partial = file.begin(shape, where);
  const std::vector<double> columns[] = {{0.5, 3.5}, {1.5, 2.5, 4.5, 5.5}};
  file.write(partial, shape, {{0, 1}, {2, 3}}, columns[1].data(), where);
  file.write(partial, shape, {{0, 0}, {2, 1}}, columns[0].data(), where);
  file.finish(partial, where);
  CHECK(folder.files() == 1);
  CHECK(file.shape() == shape);

  const hid_t opened = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(opened, "/fields/x", H5P_DEFAULT);
  std::vector<double> all(6);
  CHECK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) >= 0);
  CHECK(all == std::vector<double>{0.5, 1.5, 2.5, 3.5, 4.5, 5.5});
  H5Dclose(dataset);
  H5Fclose(opened);

  const Hdf5File scalar((folder / "z.h5").string(), "z");
  const StoredShape one{element_type<std::complex<float>>(), {}};
  const std::complex<float> z(1, -2);
  std::complex<float> read = 0;
  const PartialFile begun = scalar.begin(one, where);
  scalar.write(begun, one, {}, &z, where);
  scalar.finish(begun, where);
  scalar.read(one, {}, &read);
  CHECK(read == z);

  const Hdf5File short_file((folder / "short.h5").string(), "short");
  const StoredShape two{element_type<bfloat16>(), {2}};
  const bfloat16 written[] = {bfloat16(0.1), bfloat16(-1e38)};
  const PartialFile part = short_file.begin(two, where);
  short_file.write(part, two, {{0}, {2}}, written, where);
  short_file.finish(part, where);
  CHECK(short_file.shape() == two);
  bfloat16 again[2]{};
  short_file.read(two, {{0}, {2}}, again);
  CHECK(again[0].bits() == written[0].bits());
  CHECK(again[1].bits() == written[1].bits());

  const Hdf5File image((folder / "image.h5").string(), "image");
  const StoredShape three{element_type<std::uint8_t>(), {3}};
  const std::vector<std::uint8_t> levels{7, 8, 255};
  const PartialFile started = image.begin(three, where);
  image.write(started, three, {{0}, {3}}, levels.data(), where);
  image.finish(started, where);
  std::vector<std::uint8_t> found(3);
  image.read(three, {{0}, {3}}, found.data());
  CHECK(found == levels);
}

TEST_CASE("a file that has something else as well is not overwritten") {
  const TemporaryFolder folder;
  const auto where = std::source_location::current();
  const StoredShape shape{element_type<double>(), {1}};
  const auto save = [&](const Hdf5File& file, double number) {
    const PartialFile partial = file.begin(shape, where);
    file.write(partial, shape, {{0}, {1}}, &number, where);
    file.finish(partial, where);
  };
  const auto number_of = [&](const Hdf5File& file) {
    double number = 0;
    file.read(shape, {{0}, {1}}, &number);
    return number;
  };
  const std::string path = (folder / "run.h5").string();
  for (const char* name : {"fields/x", "/fields//x", "./fields/./x"}) {
    CAPTURE(name);
    for (const double number : {1.0, 2.0}) save({path, name}, number);
    CHECK(number_of({path, "fields/x"}) == 2.0);
  }
  const auto message = [&](const std::string& name) {
    return message_of([&] { save({path, name}, 3.0); });
  };
  CHECK(contains(message("fields/y"),
                 "dataset 'fields/y' cannot be written to " + path +
                     " (the file has 'fields/x', which would be lost: what is written is a file of "
                     "one dataset); name another file, or remove that one"));
  for (const char* name : {"x", "fields", "fields/x/y", "field", "fields/xx"}) {
    CHECK(contains(message(name), "(the file has 'fields"));
  }
  CHECK(number_of({path, "fields/x"}) == 2.0);
  {
    const Hdf5Written made(path);
    made.dataset("a", H5T_IEEE_F64LE);
    made.dataset("b", H5T_IEEE_F64LE);
  }
  CHECK(contains(message("a"), "(the file has 'b', which would be lost"));
  CHECK(contains(message("b"), "(the file has 'a', which would be lost"));
  for (const char* object : {"/", "fields", "fields/x"}) {
    {
      const Hdf5Written made(path);
      made.group("fields");
      made.dataset("fields/x", H5T_IEEE_F64LE);
      made.attribute(object);
    }
    CHECK(contains(message("fields/x"),
                   "(the file has attributes of '" + std::string(object) + "', which would"));
  }
  std::ofstream(path) << "no HDF5";
  CHECK(contains(message("a"), "(there is a file that HDF5 cannot open"));
  std::ofstream(path, std::ios::trunc).close();
  CHECK_FALSE(contains(message("a"), "cannot"));
  CHECK(number_of({path, "a"}) == 3.0);
  CHECK(folder.files() == 1);
}

TEST_CASE("what is no dataset of numbers is refused in a sentence that names file and dataset") {
  const TemporaryFolder folder;
  const std::string path = (folder / "x.h5").string();
  const auto message = [&](const char* dataset) {
    const std::string said = message_of([&] { (void)Hdf5File(path, dataset).shape(); });
    CHECK(contains(said, path + ": " + dataset + ": "));
    return said;
  };
  CHECK(contains(message("x"), "there is no such file"));
  std::ofstream(path) << "no HDF5";
  CHECK(contains(message("x"), "the file cannot be opened"));
  {
    const Hdf5Written made(path);
    made.dataset("text", H5T_C_S1, false, {2});
    made.dataset("none", H5T_IEEE_F64LE, false, {0});
    made.dataset("deep", H5T_IEEE_F64LE, false, {1, 1, 1, 1, 1, 1, 1, 1, 1});
    made.dataset("large", H5T_STD_U64LE);
    made.dataset("many", H5T_IEEE_F32LE, true, {hsize_t{1} << 31, hsize_t{1} << 31});
    made.dataset("f8", H5T_IEEE_F64LE);
  }
  CHECK(contains(message("x"), "the file has no such dataset"));
  CHECK(contains(message("text"), "its elements are of a type that no tensor has"));
  CHECK(contains(message("large"), "its elements are of a type that no tensor has"));
  CHECK(contains(message("large"), "integers of up to 64 bits with a sign or up to 32 without"));
  CHECK(contains(message("none"), "a dimension has extent 0"));
  CHECK(contains(message("many"), "the dataset has more elements than a tensor may have, 2^57"));
  CHECK(contains(message("deep"), "the dataset has 9 dimensions (a tensor has at most 8)"));
  CHECK(contains(message_of([&] {
                   (void)read_box_of<float>({path, "f8"}, {{0, 0}, {1, 1}});
                 }),
                 "the file has changed while it was read"));

  const auto where = std::source_location::current();
  CHECK(contains(
      message_of([&] {
        (void)Hdf5File("/nowhere/at/all.h5", "x").begin({element_type<float>(), {1}}, where);
      }),
      "cannot write dataset 'x' to /nowhere/at/all.h5 (HDF5 failed)"));
  CHECK(contains(message_of([&] {
                   (void)Hdf5File(path, "x").begin({{ElementKind::other, 3}, {1}}, where);
                 }),
                 "elements of a 3-byte type cannot be written to " + path +
                     ": x (float, double, complex numbers of both, float16, bfloat16, int32, int64 "
                     "and uint8 can); write each member as a result of its own, map(f, X(i))"));
  CHECK(contains(message_of([&] {
                   (void)Hdf5File(path, "x").begin({element_type<std::int16_t>(), {1}}, where);
                 }),
                 "elements of int16 cannot be written to " + path +
                     ": x (float, double, complex numbers of both, float16, bfloat16, int32, int64 "
                     "and uint8 can); convert them by cast"));
  for (const char* name : {"", "/", "group/"}) {
    CHECK(contains(message_of([&] {
                     (void)Hdf5File(path, name).begin({element_type<float>(), {1}}, where);
                   }),
                   "(a dataset has a name of its own)"));
  }
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(contains(message_of([&] {
                   (void)Hdf5File(pipe, "x").begin({element_type<float>(), {1}}, where);
                 }),
                 "cannot write dataset 'x' to " + pipe + " (it is no file)"));
  CHECK(folder.files() == 2);
}
