# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sourced by the other scripts, and by anyone who wants the same environment in bash:
#     source scripts/env.sh
# Everything already set by the user is left alone. What it sets stays, OMP_NUM_THREADS=1 above all:
# whoever measures with more threads says so.

EINDECOMP_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
EINDECOMP_JOBS=${EINDECOMP_JOBS:-$(nproc)}

# Where bootstrap puts Kokkos and Kokkos Kernels; the CMake presets look here.
EINDECOMP_DEPS_PREFIX=${EINDECOMP_DEPS_PREFIX:-${XDG_CACHE_HOME:-$HOME/.cache}/eindecomp/kokkos-3.4.01}

# A second build of unchanged sources takes seconds, with precompiled headers where ccache may take
# their macros for told.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
fi

# Several ranks share few cores: one OpenMP thread per rank, unpinned, that yields when it waits.
OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
OMP_PROC_BIND=${OMP_PROC_BIND:-false}
OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
# Kokkos warns, once per rank, that ranks outnumber the cores; here they do on purpose.
KOKKOS_DISABLE_WARNINGS=${KOKKOS_DISABLE_WARNINGS:-1}
OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-$OMP_NUM_THREADS}

# OpenBLAS before 0.3.22 does not recognise recent CPUs and falls back to a kernel several times
# too slow, so the kernel is named from what the CPU says it can do.
if [[ -z ${OPENBLAS_CORETYPE:-} && -r /proc/cpuinfo ]]; then
  if grep -qm1 '\bavx512f\b' /proc/cpuinfo; then
    OPENBLAS_CORETYPE=SkylakeX
  elif grep -qm1 '\bavx2\b' /proc/cpuinfo; then
    OPENBLAS_CORETYPE=Haswell
  fi
fi
[[ -z ${OPENBLAS_CORETYPE:-} ]] || export OPENBLAS_CORETYPE

# Open MPI refuses to start as root (containers, CI) or with more ranks than cores unless told; what
# it calls the latter changed with version 5.
OMPI_ALLOW_RUN_AS_ROOT=${OMPI_ALLOW_RUN_AS_ROOT:-1}
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:-1}
OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe:-1}
PRTE_MCA_rmaps_default_mapping_policy=${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}
OMPI_MCA_mpi_yield_when_idle=${OMPI_MCA_mpi_yield_when_idle:-1}

# EINDECOMP_ROOT is not exported: CMake would take it for an installation.
export EINDECOMP_JOBS EINDECOMP_DEPS_PREFIX
export OMP_NUM_THREADS OMP_PROC_BIND OMP_WAIT_POLICY KOKKOS_DISABLE_WARNINGS OPENBLAS_NUM_THREADS
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
export OMPI_MCA_rmaps_base_oversubscribe PRTE_MCA_rmaps_default_mapping_policy
export OMPI_MCA_mpi_yield_when_idle
