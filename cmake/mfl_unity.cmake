# mfl_unity(TARGET): compiles the sources of the target together, unless MFL_UNITY is off. Names in the anonymous namespaces of a folder are
# therefore unique (tests/repository/check_unity.py). Left out by CMake: sources with options or definitions of their own, such as the kernels.
# No compilation may need more than 1.5 GB, so that two fit a small machine: sanitizers need twice the memory and get smaller units, as do
# tests, whose libraries are heavy.
function(mfl_unity target)
  if(MFL_SANITIZE OR target MATCHES "_test$")
    set(batch 12)
  else()
    set(batch 0) # all
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MFL_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()
add_feature_info(unity MFL_UNITY "the sources of a folder are compiled together (MFL_UNITY)")

# GCC collects garbage each time its heap has doubled. Collecting less often saves a tenth of the time for a quarter more memory.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT MFL_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=300>
                      $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=400000>)
endif()
