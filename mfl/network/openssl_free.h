// Ownership of OpenSSL's objects.
#pragma once

namespace mfl {

// std::unique_ptr<X509, OpensslFree<X509_free>> and the like.
template <auto Free>
struct OpensslFree {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace mfl
