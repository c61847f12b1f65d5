// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs that lie in files and results that are written to them: every rank its own blocks.

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <source_location>
#include <string>
#include <vector>

#include "eindecomp/run/tensor_files.hpp"
#include "eindecomp/tools/npy.hpp"
#ifdef EINDECOMP_TEST_HDF5
#include "eindecomp/tools/hdf5.hpp"
#endif
#ifdef EINDECOMP_TEST_JSON
#include "eindecomp/tools/safetensors_json.hpp"
#endif
#include "run/programs.hpp"
#include "support/temporary_folder.hpp"

using namespace run_test;
using ein::bind_file;
using ein::NpyFile;

namespace {

/// A folder that all ranks write into, rank 0's.
class SharedFolder {
 public:
  SharedFolder() : m_path(m_mine.path().string()) {
    auto length = static_cast<int>(m_path.size());
    MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    m_path.resize(static_cast<std::size_t>(length));
    MPI_Bcast(m_path.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder() { MPI_Barrier(MPI_COMM_WORLD); }

  [[nodiscard]] std::string operator/(const char* name) const { return m_path + "/" + name; }
  /// How many files there are, when all ranks have done what they were at.
  [[nodiscard]] std::ptrdiff_t files() const {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto n = std::distance(std::filesystem::directory_iterator(m_path), {});
    MPI_Barrier(MPI_COMM_WORLD);
    return n;
  }
  /// Writes a file on rank 0; all ranks wait for it.
  void write(const char* name, const std::string& content) const {
    if (World().rank == 0) std::ofstream(*this / name, std::ios::binary) << content;
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  eindecomp_tests::TemporaryFolder m_mine;
  std::string m_path;
};

/// A matrix by formula as a .npy file has it.
template <class T>
std::string npy(Extent rows, Extent columns, const Formula<T>& formula, bool column_major = false,
                const char* type = "<f8") {
  std::string header = std::string("{'descr': '") + type +
                       "', 'fortran_order': " + (column_major ? "True" : "False") + ", 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }\n";
  std::string content = std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0';
  content += header;
  for (Extent n = 0; n < rows * columns; ++n) {
    const T x = column_major ? formula(n % rows, n / rows) : formula(n / columns, n % columns);
    content.append(reinterpret_cast<const char*>(&x), sizeof(T));
  }
  return content;
}

/// A file into which a rank cannot write.
class FullFile final : public ein::TensorFile {
 public:
  FullFile(const std::string& path, bool is_full) : m_file(path), m_is_full(is_full) {}
  [[nodiscard]] std::string name() const override { return m_file.name(); }
  [[nodiscard]] ein::StoredShape shape() const override { return m_file.shape(); }
  void read(const ein::StoredShape& shape, const ein::Box& box, void* into) const override {
    m_file.read(shape, box, into);
  }
  [[nodiscard]] ein::PartialFile begin(const ein::StoredShape& shape,
                                       const std::source_location& where) const override {
    return m_file.begin(shape, where);
  }
  void write(const ein::PartialFile& partial, const ein::StoredShape& shape, const ein::Box& box,
             const void* from, const std::source_location& where) const override {
    if (m_is_full) throw ein::Error(ein::ErrorKind::io, "the disk is full", where);
    m_file.write(partial, shape, box, from, where);
  }
  void finish(const ein::PartialFile& partial, const std::source_location& where) const override {
    m_file.finish(partial, where);
  }

 private:
  NpyFile m_file;
  bool m_is_full;
};

}  // namespace

TEST_CASE("inputs are read from .npy files and results written to one, whatever the plan") {
  const World world;
  const SharedFolder folder;
  const Product product;
  folder.write("a.npy", npy(12, 10, product.fa));
  folder.write("b.npy", npy(10, 14, product.fb, true));
  for (const int workers : {1, 2, 3, 4, 6, 8}) {
    const Plan plan = ein::decompose(product.program, {.workers = workers, .ranks = world.size});
    const auto run =
        ein::execute(plan, MPI_COMM_WORLD, Space(), bind_file(product.A, NpyFile(folder / "a.npy")),
                     bind_file("B", NpyFile(folder / "b.npy")));
    CHECK(product.right(run));
    CHECK(run.statistics().words_received == of_this_rank(plan.tasks().received));
    ein::save(run, product.C, NpyFile(folder / "c.npy"));
    const ein::StoredTensor c = ein::read_npy(folder / "c.npy");
    MPI_Barrier(MPI_COMM_WORLD);  // before the next plan's result replaces it
    CHECK(c.bound == std::vector<Extent>{12, 14});
    const Kokkos::View<const double**, Kokkos::LayoutRight, Kokkos::HostSpace> whole(
        reinterpret_cast<const double*>(c.bytes.data()), 12, 14);
    CHECK(product.right(whole, ein::Box::whole(c.bound)));
  }
  CHECK(folder.files() == 3);
}

#ifdef EINDECOMP_TEST_HDF5
TEST_CASE("results are written to HDF5 files and are inputs again") {
  const World world;
  const SharedFolder folder;
  const Product product;
  const auto b = ein::bind_generator(product.B, product.fb);
  for (const int workers : {1, 4, 6}) {
    const Plan plan = ein::decompose(product.program, {.workers = workers, .ranks = world.size});
    const auto run =
        ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(product.A, product.fa), b);
    ein::save(run, "C", ein::Hdf5File(folder / "c.h5", "of/a/product"));
    Program same;
    auto C = same.input<double>("C", {12, 14});
    auto D = ein::let<"D">(ein::labels::i, ein::labels::k) =
        1.0 * C(ein::labels::i, ein::labels::k);
    const Plan next = ein::decompose(same, {.workers = 2 * workers, .ranks = world.size});
    const auto read = ein::execute(next, MPI_COMM_WORLD, Space(),
                                   bind_file(C, ein::Hdf5File(folder / "c.h5", "of/a/product")));
    CHECK(product.right(on_host(read.gather(D)), ein::Box{{0, 0}, {12, 14}}));
  }
  CHECK(folder.files() == 1);
}
#endif

#ifdef EINDECOMP_TEST_JSON
TEST_CASE("several results are written to one file of safetensors") {
  const World world;
  const SharedFolder folder;
  using namespace ein::labels;
  Program g;
  const auto A = g.input<double>("A", {12, 10});
  const auto B = g.input<double>("B", {10, 14});
  const auto C = ein::let<"C">(i, k) = ein::sum(j)(A(i, j) * B(j, k));
  const auto rows = ein::let<"rows">(i) = ein::sum(k)(C(i, k));
  const auto all = ein::let<"all">() = ein::sum(i)(rows(i));
  g.keep(C);
  g.keep(rows);
  const Formula<double> fa;
  const Formula<double> fb;
  for (const int workers : {1, 3, 4}) {
    const Plan plan = ein::decompose(g, {.workers = workers, .ranks = world.size});
    const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(A, fa),
                                  ein::bind_generator(B, fb));
    const ein::SafetensorsArchive file(folder / "results.safetensors");
    if (workers == 3) {
      ein::save(run, std::vector<std::string>{"rows", "C", "all"}, file);
    } else {
      ein::save(run, {rows, C, all}, file);
    }
    const ein::Safetensors read = ein::read_safetensors(folder / "results.safetensors");
    REQUIRE(read.tensors.size() == 3);
    CHECK(read.tensors[0].name == "rows");
    CHECK(read.tensors[1].name == "C");
    CHECK(read.tensors[2].bound.empty());
    const auto same = [&](const ein::StoredTensor& stored, const auto& symbol) {
      const auto whole = run.gather(symbol);
      REQUIRE(stored.bytes.size() == whole.span() * sizeof(double));
      CHECK(std::memcmp(stored.bytes.data(), whole.data(), stored.bytes.size()) == 0);
    };
    same(read.tensors[0], rows);
    same(read.tensors[1], C);
    same(read.tensors[2], all);
    // Nothing, one twice, and ranks at odds: what was there stays.
    CHECK(contains(message_of([&] { ein::save(run, {}, file); }), "no tensor is to be written to"));
    CHECK(contains(message_of([&] {
                     ein::save(run, {C, "C"}, file);
                   }),
                   "two tensors are called C"));
    CHECK(contains(message_of([&] { ein::save(run, {C, A}, file); }), "tensor A is not a result"));
    if (world.size > 1) {
      const std::vector<std::string> mine =
          world.rank == 0 ? std::vector<std::string>{"C"} : std::vector<std::string>{"C", "rows"};
      CHECK(contains(message_of([&] { ein::save(run, mine, file); }),
                     "ranks are in different calls"));
    }
    CHECK(folder.files() == 1);
    CHECK(ein::read_safetensors(folder / "results.safetensors").tensors == read.tensors);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
#endif

TEST_CASE("a file that is bound as constant is read once") {
  const World world;
  const SharedFolder folder;
  const Product product;
  folder.write("a.npy", npy(12, 10, product.fa));
  folder.write("b.npy", npy(10, 14, Formula<>{5}));
  const Plan plan = ein::decompose(product.program, {.workers = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const ein::FileBinding a = bind_file(product.A, NpyFile(folder / "a.npy")).constant();
  const ein::FileBinding b = bind_file(product.B, NpyFile(folder / "b.npy"));
  CHECK(!product.right(executor.run(a, b)));
  folder.write("a.npy", npy(12, 10, Formula<>{6}));
  folder.write("b.npy", npy(10, 14, product.fb));
  CHECK(product.right(executor.run(std::vector<ein::Binding<Space>>{a, b})));
  // Another file has other elements.
  folder.write("c.npy", npy(12, 10, Formula<>{6}));
  const ein::FileBinding c = bind_file(product.A, NpyFile(folder / "c.npy")).constant();
  CHECK(!product.right(executor.run(c, b)));
  CHECK(!product.right(executor.run(a, b)));  // a.npy is read again, as it is by now
}

TEST_CASE("a file that is not the input ends the run on all ranks") {
  const World world;
  const SharedFolder folder;
  const Product product;
  const auto b = ein::bind_generator(product.B, product.fb);
  const Plan plan = ein::decompose(product.program, {.workers = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto message = [&](const std::string& content) {
    folder.write("a.npy", content);
    std::string said = "no error";
    try {
      (void)executor.run(bind_file(product.A, NpyFile(folder / "a.npy")), b);
    } catch (const ein::Error& error) {
      CHECK(error.kind() == ein::ErrorKind::io);
      said = error.sentence();
    }
    CHECK(contains(said, folder / "a.npy"));
    CHECK(contains(said, std::to_string(world.size) + ": input A is "));  // "ranks 0 and 1 of 2"
    MPI_Barrier(MPI_COMM_WORLD);
    return said;
  };
  CHECK(contains(message(npy(10, 12, product.fa)), "input A is 12 x 10 of double and is bound to " +
                                                       (folder / "a.npy") +
                                                       ", which has 10 x 12 of double"));
  CHECK(
      contains(message(npy(12, 10, Formula<float>{}, false, "<f4")), "which has 12 x 10 of float"));
  CHECK(contains(message("no NumPy"), "this is no .npy file"));
  const std::string whole = npy(12, 10, product.fa);
  CHECK(contains(message(whole.substr(0, whole.size() - 8)),
                 "the file has 952 bytes of elements and its array 960 (it is cut short)"));
  // One rank alone has another file.
  folder.write("a.npy", whole);
  const bool last = world.rank == world.size - 1;
  CHECK(contains(message_of([&] {
                   (void)executor.run(
                       bind_file(product.A, NpyFile(folder / (last ? "none.npy" : "a.npy"))), b);
                 }),
                 "rank " + std::to_string(world.size - 1) + " of " + std::to_string(world.size) +
                     ": input A is bound to " + (folder / "none.npy") +
                     ": the file cannot be read"));
  CHECK(product.right(executor.run(bind_file(product.A, NpyFile(folder / "a.npy")), b)));
}

TEST_CASE("a result that cannot be written leaves what was there, on all ranks") {
  const World world;
  const SharedFolder folder;
  const Product product;
  const Plan plan = ein::decompose(product.program, {.workers = world.size});
  const auto run =
      ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(product.A, product.fa),
                   ein::bind_generator(product.B, product.fb));
  CHECK(contains(message_of([&] { ein::save(run, product.A, NpyFile(folder / "a.npy")); }),
                 "tensor A is not a result"));
  CHECK(contains(message_of([&] { ein::save(run, "D", NpyFile(folder / "d.npy")); }),
                 "the program has no tensor 'D'"));
  CHECK(contains(message_of([&] { ein::save(run, "C", NpyFile(folder / "none/c.npy")); }),
                 "rank 0 of " + std::to_string(world.size) + ": cannot write a tensor to " +
                     (folder / "none/c.npy")));
  folder.write("old.npy", "what was there");
  CHECK(contains(message_of([&] {
                   ein::save(run, "C", FullFile(folder / "old.npy", world.rank == world.size - 1));
                 }),
                 "rank " + std::to_string(world.size - 1) + " of " + std::to_string(world.size) +
                     ": the disk is full"));
  if (world.size > 1) {
    CHECK(contains(message_of([&] {
                     ein::save(run, "C",
                               NpyFile(folder / (world.rank == 0 ? "old.npy" : "new.npy")));
                   }),
                   "ranks hold different files"));
  }
  CHECK(folder.files() == 1);
  std::ifstream old(folder / "old.npy");
  CHECK(std::string(std::istreambuf_iterator<char>(old), {}) == "what was there");
}
