// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main of a test program of several processes: every rank runs every test case, rank 0 reports
// as usual, the others show only what fails, each line after its rank. A failure on any rank fails
// the program on all.

#define OMPI_SKIP_MPICXX 1
#include <doctest/doctest.h>
#include <mpi.h>
#include <unistd.h>

#include <ostream>
#include <streambuf>
#include <string>

#ifdef EINDECOMP_ENABLE_KOKKOS
#include <Kokkos_Core.hpp>
#endif

namespace {

/// Writes whole lines, at once and after a prefix, so that the lines of several ranks do not mix
/// and none is lost where a rank is killed.
class LineBuffer : public std::streambuf {
 public:
  explicit LineBuffer(std::string prefix) : m_prefix(std::move(prefix)), m_line(m_prefix) {}
  ~LineBuffer() override {
    if (m_line.size() > m_prefix.size()) write_line();
  }

 private:
  int_type overflow(int_type c) override {
    if (c != traits_type::eof()) {
      m_line.push_back(static_cast<char>(c));
      if (c == '\n') write_line();
    }
    return c;
  }

  void write_line() {
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, m_line.data(), m_line.size());
    m_line = m_prefix;
  }

  std::string m_prefix;
  std::string m_line;
};

/// A rank that leaves a test case early (a failed REQUIRE, an exception) may leave the others
/// waiting for it: all are ended instead.
class AbortWhereOneLeaves : public doctest::IReporter {
 public:
  explicit AbortWhereOneLeaves(const doctest::ContextOptions&) {}

  void log_assert(const doctest::AssertData& data) override {
    m_left |= data.m_failed && (data.m_at & doctest::assertType::is_require) != 0;
  }
  void test_case_exception(const doctest::TestCaseException&) override { m_left = true; }
  void test_case_end(const doctest::CurrentTestCaseStats&) override {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (m_left && ranks > 1) MPI_Abort(MPI_COMM_WORLD, 1);
    m_left = false;
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  bool m_left = false;
};
REGISTER_LISTENER("abort", 1, AbortWhereOneLeaves);

int run_tests(int argc, char** argv) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  LineBuffer lines(rank == 0 ? "" : "[rank " + std::to_string(rank) + "] ");
  std::ostream out(&lines);
  doctest::Context context(argc, argv);
  context.setCout(&out);
  context.setOption("no-intro", true);
  context.setOption("no-colors", true);
  if (rank != 0) context.setOption("minimal", true);

  int failed = context.run() != 0;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  int result = 0;
  {
#ifdef EINDECOMP_ENABLE_KOKKOS
    const Kokkos::ScopeGuard kokkos(argc, argv);
#endif
    result = run_tests(argc, argv);
  }
  MPI_Finalize();
  return result;
}
