# mfl_library(NAME SOURCES ... [LINKS ...] [PRIVATE_LINKS ...]): the static library mfl_NAME, alias mfl::NAME.
function(mfl_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(mfl_${name} STATIC ${ARG_SOURCES})
  add_library(mfl::${name} ALIAS mfl_${name})
  set_target_properties(mfl_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(mfl_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                $<INSTALL_INTERFACE:include>)
  target_link_libraries(mfl_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS} mfl_build_flags)
endfunction()

# How mfl itself is compiled. Nothing here reaches a consumer.
add_library(mfl_build_flags INTERFACE)
target_compile_features(mfl_build_flags INTERFACE cxx_std_20)
# The numerics contract: a multiply and an add are fused where the source says fma and nowhere else.
target_compile_options(mfl_build_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                 -Wnon-virtual-dtor -Wold-style-cast)
if(MFL_WARNINGS_AS_ERRORS)
  target_compile_options(mfl_build_flags INTERFACE -Werror)
endif()
if(MFL_SANITIZE)
  target_compile_options(mfl_build_flags INTERFACE -fsanitize=${MFL_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(mfl_build_flags INTERFACE -fsanitize=${MFL_SANITIZE})
endif()
