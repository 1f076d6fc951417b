# Compiles through ccache if it is installed and the user has not chosen another launcher.
find_program(MFL_CCACHE ccache)
if(MFL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${MFL_CCACHE})
endif()
add_feature_info(ccache MFL_CCACHE "compiled objects are kept between builds")
