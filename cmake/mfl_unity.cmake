# mfl_unity(TARGET): compiles the sources of the target together, unless MFL_UNITY is off. Names in the anonymous namespaces of a folder are
# therefore unique (tests/repository/check_unity.py). Left out by CMake: sources with options or definitions of their own, such as the kernels.
function(mfl_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MFL_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# GCC collects garbage each time its heap has doubled; collecting less often saves a tenth of the time for a quarter more memory, which
# stays below 1.5 GB per compilation.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=300> $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=400000>)
endif()
add_feature_info(unity MFL_UNITY "the sources of a folder are compiled together (MFL_UNITY)")
