# Install and export: find_package(mfl) gives mfl::mfl (everything), mfl::FOLDER (one folder and what it needs), and mfl::capi, the shared
# library with the C interface.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY MFL_LIBRARIES)
add_library(mfl_all INTERFACE)
add_library(mfl::mfl ALIAS mfl_all)
set_target_properties(mfl_all PROPERTIES EXPORT_NAME mfl)
target_link_libraries(mfl_all INTERFACE ${libraries})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mfl)
install(TARGETS mfl_all mfl_capi ${libraries} EXPORT mflTargets FILE_SET HEADERS)
install(EXPORT mflTargets NAMESPACE mfl:: DESTINATION ${package_folder})
if(TARGET mfl_cli)
  install(TARGETS mfl_cli)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/experiments/paper DESTINATION ${CMAKE_INSTALL_DATADIR}/mfl/experiments
          FILES_MATCHING PATTERN "*.toml")
  # Manual pages and completion scripts, written by the program itself.
  set(shell ${PROJECT_BINARY_DIR}/shell)
  install(CODE "
    file(MAKE_DIRECTORY ${shell}/man1)
    execute_process(COMMAND $<TARGET_FILE:mfl_cli> man --out ${shell}/man1 OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    foreach(name IN ITEMS bash zsh fish)
      execute_process(COMMAND $<TARGET_FILE:mfl_cli> completion \${name} OUTPUT_FILE ${shell}/\${name}
                      COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
  install(DIRECTORY ${shell}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${shell}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME mfl)
  install(FILES ${shell}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _mfl)
  install(FILES ${shell}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME mfl.fish)
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/mflConfig.cmake.in ${PROJECT_BINARY_DIR}/mflConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mflConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mflConfig.cmake ${PROJECT_BINARY_DIR}/mflConfigVersion.cmake
        DESTINATION ${package_folder})
