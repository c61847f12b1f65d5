// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The MPI header, its error codes as Errors, and a datatype of one element. Only for translation
/// units with EINDECOMP_ENABLE_MPI; nothing else includes mpi.h.
#pragma once

// The C++ bindings of MPI-2 are gone from the standard and cost a second per file.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <source_location>
#include <string>
#include <utility>

#include "eindecomp/core/error.hpp"

namespace eindecomp::comm::detail {

/// Turns an MPI error code into an Error that names the call.
inline void check(int code, const char* call,
                  std::source_location where = std::source_location::current()) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw Error(ErrorKind::communication,
              std::string(call) + " failed (" +
                  std::string(text, static_cast<std::size_t>(length)) +
                  "); the communicator cannot be used any more",
              where);
}

/// Whether the MPI library was built for GPUs and finds itself able to reach theirs. Libraries that
/// cannot be asked count as unable.
inline bool gpu_aware() {
  bool aware = false;
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  aware = aware || MPIX_Query_cuda_support() == 1;
#endif
#if defined(MPIX_ROCM_AWARE_SUPPORT) && MPIX_ROCM_AWARE_SUPPORT
  aware = aware || MPIX_Query_rocm_support() == 1;
#endif
  return aware;
}

/// An MPI handle with one owner, which frees it unless MPI was finalised before.
template <class Handle>
class Owned {
 public:
  /// \param null  what the handle is after it was moved from or freed, MPI_COMM_NULL for one
  Owned(Handle handle, Handle null, int (*free)(Handle*))
      : m_handle(handle), m_null(null), m_free(free) {}
  Owned(Owned&& other) noexcept
      : m_handle(std::exchange(other.m_handle, other.m_null)),
        m_null(other.m_null),
        m_free(other.m_free) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(m_handle, other.m_handle);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    int finalized = 0;
    if (m_handle != m_null && MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) {
      m_free(&m_handle);
    }
  }

  // NOLINTNEXTLINE(google-explicit-constructor): an owner stands for what it owns.
  operator Handle() const noexcept { return m_handle; }

 private:
  Handle m_handle;
  Handle m_null;
  int (*m_free)(Handle*);
};

/// One element as MPI sees it: `bytes` of memory without a meaning, so that a message's count is
/// its number of elements, whatever they are.
[[nodiscard]] inline Owned<MPI_Datatype> element_datatype(int bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(bytes, MPI_BYTE, &type), "MPI_Type_contiguous");
  check(MPI_Type_commit(&type), "MPI_Type_commit");
  return {type, MPI_DATATYPE_NULL, MPI_Type_free};
}

}  // namespace eindecomp::comm::detail
