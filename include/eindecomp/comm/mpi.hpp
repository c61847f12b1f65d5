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

/// One element as MPI sees it: `bytes` of memory without a meaning, so that a message's count is
/// its number of elements, whatever they are.
class ElementDatatype {
 public:
  explicit ElementDatatype(int bytes) : m_bytes(bytes) {
    check(MPI_Type_contiguous(bytes, MPI_BYTE, &m_type), "MPI_Type_contiguous");
    check(MPI_Type_commit(&m_type), "MPI_Type_commit");
  }
  ElementDatatype(ElementDatatype&& other) noexcept
      : m_bytes(other.m_bytes), m_type(std::exchange(other.m_type, MPI_DATATYPE_NULL)) {}
  ElementDatatype& operator=(ElementDatatype&& other) noexcept {
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_type, other.m_type);
    return *this;
  }
  ElementDatatype(const ElementDatatype&) = delete;
  ElementDatatype& operator=(const ElementDatatype&) = delete;
  ~ElementDatatype() {
    int finalized = 0;
    if (m_type != MPI_DATATYPE_NULL && MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) {
      MPI_Type_free(&m_type);
    }
  }

  [[nodiscard]] int bytes() const noexcept { return m_bytes; }
  [[nodiscard]] MPI_Datatype get() const noexcept { return m_type; }

 private:
  int m_bytes;
  MPI_Datatype m_type = MPI_DATATYPE_NULL;
};

}  // namespace eindecomp::comm::detail
