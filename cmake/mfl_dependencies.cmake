# Every third-party package, found once. All come from Debian 12; docs/dependencies.md says why each is used.
# A package that an exported library links must also be listed in mflConfig.cmake.in.
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
find_package(Eigen3 REQUIRED)
find_path(SPECTRA_INCLUDE_DIR Spectra/SymEigsSolver.h REQUIRED)

# Optional: the network service.
find_package(Protobuf QUIET)
find_package(gRPC QUIET CONFIG)
find_package(spdlog QUIET)
find_package(prometheus-cpp QUIET CONFIG)
find_program(MFL_GRPC_PLUGIN grpc_cpp_plugin)
if(Protobuf_FOUND AND gRPC_FOUND AND spdlog_FOUND AND prometheus-cpp_FOUND AND MFL_GRPC_PLUGIN)
  set(MFL_NETWORK ON)
else()
  set(MFL_NETWORK OFF)
endif()
add_feature_info(network MFL_NETWORK "mfl server, node, certs and demo (gRPC, protobuf, spdlog, prometheus-cpp)")

# Optional: the engine mpi. Its deprecated C++ bindings are not used.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI COMPONENTS CXX)
add_feature_info(mpi MPI_CXX_FOUND "one run over many machines: mpirun -n R mfl run (libopenmpi-dev)")
