# mfl_library(NAME [LEVEL 1|2] SOURCES ... [LINKS ...] [PRIVATE_LINKS ...]): the static library mfl_NAME, alias mfl::NAME.
# Its headers are those of the current folder. It is installed and is part of mfl::mfl. LEVEL is for folders whose code no benchmark
# feels: an optimised build compiles them with -O1 or -O2, in up to 40 % less time than with -O3.
function(mfl_library name)
  cmake_parse_arguments(ARG "" "LEVEL" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  list(FILTER headers EXCLUDE REGEX "-inl\\.h$") # parts of a source
  add_library(mfl_${name} STATIC ${ARG_SOURCES})
  add_library(mfl::${name} ALIAS mfl_${name})
  set_target_properties(mfl_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  mfl_unity(mfl_${name})
  target_compile_features(mfl_${name} PUBLIC cxx_std_20)
  target_sources(mfl_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_link_libraries(mfl_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS} $<BUILD_INTERFACE:mfl_build_flags>)
  if(ARG_LEVEL AND NOT MFL_SANITIZE)
    target_compile_options(mfl_${name} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O${ARG_LEVEL}>)
  endif()
  set_property(GLOBAL APPEND PROPERTY MFL_LIBRARIES mfl_${name})
endfunction()

# The flags that mfl itself is compiled with. Consumers do not inherit them.
add_library(mfl_build_flags INTERFACE)
target_compile_features(mfl_build_flags INTERFACE cxx_std_20)
# The numerics contract: multiplication and addition are fused only where the source says fma.
target_compile_options(mfl_build_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                 -Wnon-virtual-dtor -Wold-style-cast)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(mfl_build_flags INTERFACE -Wno-restrict) # wrong for "text" + std::string, GCC bug 105651
endif()
if(MFL_WARNINGS_AS_ERRORS)
  target_compile_options(mfl_build_flags INTERFACE -Werror)
endif()
if(MFL_SANITIZE)
  target_compile_options(mfl_build_flags INTERFACE -fsanitize=${MFL_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_compile_definitions(mfl_build_flags INTERFACE MFL_SANITIZED) # the kernels have one set
  target_link_options(mfl_build_flags INTERFACE -fsanitize=${MFL_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU) # unreliable in instrumented code, as GCC's manual says
    target_compile_options(mfl_build_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
