# Install and export: find_package(mfl) gives mfl::mfl (everything) and mfl::FOLDER (one folder and what it needs).
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY MFL_LIBRARIES)
add_library(mfl_all INTERFACE)
add_library(mfl::mfl ALIAS mfl_all)
set_target_properties(mfl_all PROPERTIES EXPORT_NAME mfl)
target_link_libraries(mfl_all INTERFACE ${libraries})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mfl)
install(TARGETS mfl_all ${libraries} EXPORT mflTargets FILE_SET HEADERS)
install(EXPORT mflTargets NAMESPACE mfl:: DESTINATION ${package_folder})
if(TARGET mfl_cli)
  install(TARGETS mfl_cli)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/experiments/paper DESTINATION ${CMAKE_INSTALL_DATADIR}/mfl/experiments
          FILES_MATCHING PATTERN "*.toml")
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/mflConfig.cmake.in ${PROJECT_BINARY_DIR}/mflConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mflConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mflConfig.cmake ${PROJECT_BINARY_DIR}/mflConfigVersion.cmake
        DESTINATION ${package_folder})
