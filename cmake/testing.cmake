# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How the tests are declared. LIBS names components (core, kokkos, mpi, or eindecomp for all that is
# enabled) and further targets; a test whose component is not enabled is left out. Every test
# carries its folder's name as a label: `ctest -L plan`. What only runs the compiler is labelled
# compile_only too: one build is enough for it.

# What Open MPI, Kokkos and OpenBLAS need for many ranks on few cores.
set(EINDECOMP_TEST_ENVIRONMENT
  OMP_NUM_THREADS=$<IF:$<BOOL:$ENV{OMP_NUM_THREADS}>,$ENV{OMP_NUM_THREADS},1>
  OMP_PROC_BIND=false
  # What is read before it is written is no zero by chance.
  MALLOC_PERTURB_=85
  OMPI_ALLOW_RUN_AS_ROOT=1
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  OMPI_MCA_mpi_yield_when_idle=1
  # Open MPI binds one or two ranks to the first cores, which tests that run side by side would share.
  OMPI_MCA_hwloc_base_binding_policy=none
  PRTE_MCA_hwloc_default_binding_policy=none)

include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-march=native EINDECOMP_COMPILES_NATIVE)

# scripts/test runs the tests of one process under sanitizers and need not build them twice.
option(EINDECOMP_SINGLE_PROCESS_TESTS "Build the tests that need no MPI" ON)

# Saves much of the time to compile all tests, and costs it where one file has changed.
option(EINDECOMP_UNITY_TESTS "Compile all files of a test program as one" OFF)

# Resolves LIBS into OUT; OUT stays empty where a component is not enabled.
function(_eindecomp_resolve_libs out)
  set(targets)
  foreach(lib IN LISTS ARGN)
    if(lib STREQUAL "eindecomp" OR lib IN_LIST EINDECOMP_COMPONENTS)
      list(APPEND targets eindecomp_${lib})
    elseif(lib MATCHES "^(core|kokkos|mpi)$")
      set(${out} "" PARENT_SCOPE)
      return()
    else()
      list(APPEND targets ${lib})
    endif()
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# The objects of a file of tests/support, compiled once for all programs of a component.
function(_eindecomp_support_objects out source component)
  cmake_path(GET source STEM stem)
  set(target ${component}_${stem})
  if(NOT TARGET ${target})
    add_library(${target} OBJECT ${PROJECT_SOURCE_DIR}/tests/support/${source})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${target} PRIVATE ${component} doctest::doctest eindecomp_warnings)
    if(source MATCHES "mpi")
      target_link_libraries(${target} PRIVATE MPI::MPI_CXX)
    endif()
  endif()
  set(${out} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
endfunction()

# The first of libs is the component that the test is of. A program that is there already is given
# these sources and libraries, too.
function(_eindecomp_add_test_program name main sources libs)
  list(GET libs 0 component)
  if(TARGET eindecomp_test_${name})
    target_sources(eindecomp_test_${name} PRIVATE ${sources})
    target_link_libraries(eindecomp_test_${name} PRIVATE ${libs})
    return()
  endif()
  _eindecomp_support_objects(main_objects ${main} ${component})
  add_executable(eindecomp_test_${name} ${sources}
    ${main_objects} $<TARGET_OBJECTS:eindecomp_doctest>)
  set_target_properties(eindecomp_test_${name} PROPERTIES
    OUTPUT_NAME ${name} UNITY_BUILD ${EINDECOMP_UNITY_TESTS} UNITY_BUILD_BATCH_SIZE 12)
  target_include_directories(eindecomp_test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(eindecomp_test_${name} PRIVATE
    ${libs} doctest::doctest eindecomp_warnings)
  if(EINDECOMP_SANITIZED AND NOT "eindecomp_kokkos" IN_LIST libs
      AND NOT "eindecomp_eindecomp" IN_LIST libs)
    target_compile_options(eindecomp_test_${name} PRIVATE ${EINDECOMP_SANITIZERS_OF_THE_CORE})
  endif()
  # Whole plans are constants in some tests.
  target_compile_options(eindecomp_test_${name} PRIVATE
    $<$<CXX_COMPILER_ID:Clang>:-fconstexpr-steps=1000000000>)
endfunction()

# What a test runs of a program that it shares with others: the test cases of its own files.
function(_eindecomp_filter_of out program sources)
  set(files)
  if(program)
    list(TRANSFORM sources PREPEND "*/")
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(JOIN sources "," files)
    set(files "--source-file=${files}")
  endif()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# Further arguments are further labels.
function(_eindecomp_set_test_properties name timeout)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME room)
  if(EINDECOMP_SANITIZED)
    math(EXPR timeout "4 * ${timeout}")
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS "${room};${ARGN}" TIMEOUT ${timeout} ENVIRONMENT "${EINDECOMP_TEST_ENVIRONMENT}"
    # What doctest says where a filter leaves nothing to run.
    FAIL_REGULAR_EXPRESSION "test cases: +0 ")
endfunction()

# eindecomp_add_test(NAME name SOURCES file... LIBS lib... [PROGRAM program] [TIMEOUT seconds]
#   [COST number] [HEADER_ONLY] [NATIVE] [UNSANITIZED] [UNSANITIZED_TOO])
#
# A doctest program of one process. Tests that name the same PROGRAM are compiled and linked as one,
# which takes a fraction of the time, and each runs the test cases of its files; they must agree in
# HEADER_ONLY, NATIVE and UNSANITIZED. Kokkos is initialised around the tests where LIBS bring it.
# It links the planner that is compiled once, unless HEADER_ONLY. With NATIVE there is a second one,
# name_native, with the widest vectors of this machine, for which other code is compiled; of the two
# it alone is sanitized. With UNSANITIZED none is: what it compiles is what others run under
# sanitizers, which would take as long again. With UNSANITIZED_TOO it is built where the tests of
# one process are left to
# the sanitizers, too: one that runs more random cases there (tests/support/cases.hpp). Tests of a
# higher COST start first.
function(eindecomp_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "HEADER_ONLY;NATIVE;UNSANITIZED;UNSANITIZED_TOO" "NAME;PROGRAM;TIMEOUT;COST"
    "SOURCES;LIBS")
  _eindecomp_resolve_libs(libs ${arg_LIBS})
  if(NOT libs OR NOT (EINDECOMP_SINGLE_PROCESS_TESTS OR arg_UNSANITIZED_TOO))
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_HEADER_ONLY)
    list(APPEND libs eindecomp_planner)
  endif()
  set(program ${arg_NAME})
  if(arg_PROGRAM)
    set(program ${arg_PROGRAM})
  endif()
  set(variants "")
  set(plain)
  if(arg_UNSANITIZED AND EINDECOMP_SANITIZED)
    set(plain -fno-sanitize=all)
  endif()
  if(arg_NATIVE AND EINDECOMP_COMPILES_NATIVE)
    _eindecomp_add_test_program(${program}_native doctest_main.cpp "${arg_SOURCES}" "${libs}")
    target_compile_options(eindecomp_test_${program}_native PRIVATE -march=native)
    list(APPEND variants _native)
    if(EINDECOMP_SANITIZED)
      set(plain -fno-sanitize=all)
    endif()
  endif()
  _eindecomp_add_test_program(${program} doctest_main.cpp "${arg_SOURCES}" "${libs}")
  target_compile_options(eindecomp_test_${program} PRIVATE ${plain})
  _eindecomp_filter_of(filter "${arg_PROGRAM}" "${arg_SOURCES}")
  foreach(variant IN LISTS variants ITEMS "")
    set(name ${arg_NAME}${variant})
    add_test(NAME ${name} COMMAND eindecomp_test_${program}${variant} ${filter})
    _eindecomp_set_test_properties(${name} ${arg_TIMEOUT})
    if(arg_COST)
      set_tests_properties(${name} PROPERTIES COST ${arg_COST})
    endif()
  endforeach()
endfunction()

# eindecomp_add_mpi_test(NAME name SOURCES file... [PROGRAM program] [LIBS lib...] [RANKS n...]
#   [TIMEOUT seconds] [COUNTS_WORDS])
#
# A doctest program run by mpirun, once per number of ranks, as name_np1, name_np2, ... Every rank
# runs every test case. PROGRAM is what it is above. It links planner, kernels and executors that are
# compiled once. LIBS is `eindecomp`
# unless told, RANKS 1 2 3 4 8. With COUNTS_WORDS it counts what MPI sends (support/pmpi_counter.hpp).
function(eindecomp_add_mpi_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "COUNTS_WORDS" "NAME;PROGRAM;TIMEOUT"
    "SOURCES;LIBS;RANKS")
  if(NOT arg_LIBS)
    set(arg_LIBS eindecomp)
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 1 2 3 4 8)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  _eindecomp_resolve_libs(libs ${arg_LIBS})
  if(NOT libs OR NOT EINDECOMP_ENABLE_MPI)
    return()
  endif()
  list(APPEND libs eindecomp_planner MPI::MPI_CXX)
  if("eindecomp_eindecomp" IN_LIST libs AND EINDECOMP_ENABLE_KOKKOS)
    list(APPEND libs eindecomp_executor)
  endif()
  set(program ${arg_NAME})
  if(arg_PROGRAM)
    set(program ${arg_PROGRAM})
  endif()
  _eindecomp_filter_of(filter "${arg_PROGRAM}" "${arg_SOURCES}")
  if(arg_COUNTS_WORDS)
    list(GET libs 0 component)
    _eindecomp_support_objects(counter pmpi_counter.cpp ${component})
    list(APPEND arg_SOURCES ${counter})
  endif()
  _eindecomp_add_test_program(${program} mpi_main.cpp "${arg_SOURCES}" "${libs}")
  if(eindecomp_executor IN_LIST libs)
    eindecomp_precompile(eindecomp_test_${program})
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    set(test ${arg_NAME}_np${ranks})
    add_test(NAME ${test} COMMAND
      ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
      $<TARGET_FILE:eindecomp_test_${program}> ${MPIEXEC_POSTFLAGS} ${filter})
    _eindecomp_set_test_properties(${test} ${arg_TIMEOUT})
    set_tests_properties(${test} PROPERTIES PROCESSORS ${ranks})
  endforeach()
endfunction()

# The command line the scripts below compile with is the one CMake records for a source file of a
# library that links what the test links.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
function(_eindecomp_command_like out libs)
  list(JOIN libs "_" key)
  string(MAKE_C_IDENTIFIER "eindecomp_flags_${key}" target)
  set(source ${PROJECT_BINARY_DIR}/flags/${target}.cpp)
  if(NOT TARGET ${target})
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${target} PRIVATE ${libs})
    if(libs STREQUAL "eindecomp_executor")
      eindecomp_precompile(${target})
    endif()
  endif()
  set(${out} --database ${CMAKE_BINARY_DIR}/compile_commands.json --like ${source} PARENT_SCOPE)
endfunction()

# eindecomp_add_compile_fail_test(NAME name SOURCE file CASE n [MESSAGE regex | RULES] [LIBS lib...])
#
# With EINDECOMP_CASE=n, n > 0, the compiler must refuse the file and say MESSAGE, a Python regular
# expression; without MESSAGE, its errors must be the sentences that the file's comments foretell. With
# RULES it must find the rules broken that they foretell, and may say more.
# With EINDECOMP_CASE=0 the file must compile, which is a test of its own, one per file
# (the positive control). LIBS is `core` unless told.
function(eindecomp_add_compile_fail_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "RULES" "NAME;SOURCE;CASE;MESSAGE;TIMEOUT" "LIBS")
  set(expected --message ${arg_MESSAGE})
  if(arg_RULES)
    set(expected --rules)
  elseif(NOT DEFINED arg_MESSAGE)
    set(expected --sentences)
  endif()
  if(NOT arg_LIBS)
    set(arg_LIBS core)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  _eindecomp_resolve_libs(libs ${arg_LIBS})
  if(NOT libs)
    return()
  endif()
  _eindecomp_command_like(like "${libs}")
  cmake_path(ABSOLUTE_PATH arg_SOURCE)
  cmake_path(GET arg_SOURCE STEM stem)
  set(compile_fail
    ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/cmake/compile_fail.py ${like})
  if(NOT TEST accepts_${stem})
    add_test(NAME accepts_${stem} COMMAND ${compile_fail} --case 0 ${arg_SOURCE})
    _eindecomp_set_test_properties(accepts_${stem} ${arg_TIMEOUT} compile_only)
  endif()
  add_test(NAME ${arg_NAME} COMMAND
    ${compile_fail} --case ${arg_CASE} ${expected} ${arg_SOURCE})
  _eindecomp_set_test_properties(${arg_NAME} ${arg_TIMEOUT} compile_only)
endfunction()

# eindecomp_check_headers_alone(NAME name LIBS lib... HEADERS header...)
#
# The target eindecomp_headers_alone_name compiles every header as a program would that includes it
# first (tests/cmake/header_chains.py says how). It is not built unless asked for.
function(eindecomp_check_headers_alone)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "LIBS;HEADERS")
  _eindecomp_resolve_libs(libs ${arg_LIBS})
  set(target eindecomp_headers_alone_${arg_NAME})
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/cmake/header_chains.py
      --root ${PROJECT_SOURCE_DIR}/include --output ${PROJECT_BINARY_DIR}/${target} ${arg_HEADERS}
    OUTPUT_VARIABLE sources COMMAND_ERROR_IS_FATAL ANY)
  string(STRIP "${sources}" sources)
  string(REPLACE "\n" ";" sources "${sources}")
  # Ninja wants each file once, and version.cmake names its header.
  get_property(inputs DIRECTORY PROPERTY CMAKE_CONFIGURE_DEPENDS)
  list(APPEND inputs ${PROJECT_SOURCE_DIR}/tests/cmake/header_chains.py ${arg_HEADERS})
  list(FILTER inputs EXCLUDE REGEX "/core/version\\.hpp$")
  list(REMOVE_DUPLICATES inputs)
  set_property(DIRECTORY PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(${target} PRIVATE ${libs} eindecomp_warnings)
endfunction()
