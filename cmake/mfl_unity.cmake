# mfl_unity(TARGET): compiles the sources of the target together, unless MFL_UNITY is off. Names in the anonymous namespaces of a folder are
# therefore unique (tests/repository/check_unity.py). Left out by CMake: sources with options or definitions of their own, such as the kernels.
function(mfl_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MFL_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()
add_feature_info(unity MFL_UNITY "the sources of a folder are compiled together (MFL_UNITY)")
