# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Run by the build (separate.cmake): makes of an object file of kernels, compiled for one of several
# instruction sets, one that gives nothing of its code to others. Inline functions, of the standard
# library above all, are weak symbols, of which the linker keeps any one for the whole program, and
# so might keep one that not every processor runs. They become local here, as do the tables of
# virtual functions and all that is of the instruction set; data that a program has once, such as
# inline variables, stay shared. What would run before main() waits for the set to be chosen.
#
#     cmake -Dobject= -Dset= -Doutput= -Dlinker= -Dreadelf= -Dobjcopy= -P seclude.cmake

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE said)
  set(said "${said}" PARENT_SCOPE)
endfunction()

set(shared "KernelsOfSet|SharedOfSet")
set(instruction_set "10no_vectors|8baseline|[0-9]+avx(2|512)?(_fma)?(_f16c)?")

# A function of a group cannot become local: the linker drops groups that it has already.
run(${linker} -r --force-group-allocation -o ${output}.whole ${object})

# shared_symbols(FILE): those that the file gives to others, as type:name.
function(shared_symbols file)
  run(${readelf} --wide --symbols ${file})
  string(REGEX MATCHALL
    "(FUNC|IFUNC|OBJECT|TLS|NOTYPE) +(GLOBAL|WEAK|UNIQUE) +[A-Z]+ +[0-9]+ [^ \n]+" symbols "${said}")
  list(TRANSFORM symbols REPLACE "^([A-Z]+) .* ([^ ]+)$" "\\1:\\2")
  list(FILTER symbols EXCLUDE REGEX "${shared}")
  set(symbols "${symbols}" PARENT_SCOPE)
endfunction()

# Not thread-local variables, which are data, and type_info, by which exceptions are known.
set(code "^(FUNC|IFUNC|NOTYPE):|:_ZT[VTC]|${instruction_set}")
shared_symbols(${output}.whole)
list(FILTER symbols INCLUDE REGEX "${code}")
list(TRANSFORM symbols REPLACE "^[A-Z]+:" "")
list(JOIN symbols "\n" local)
file(WRITE ${output}.local "${local}")

run(${objcopy} --localize-symbols=${output}.local
  --rename-section .init_array=eindecomp_start_${set},alloc,load,data,contents
  ${output}.whole ${output})

shared_symbols(${output})
list(FILTER symbols INCLUDE REGEX "${code}")
if(symbols)
  message(FATAL_ERROR "${output} gives code of its instruction set to others: ${symbols}")
endif()
