// SPDX-License-Identifier: BSD-3-Clause
// base/ref.hpp: shared ownership by an intrusive count. T has retain() and release().
#pragma once
#include <utility>

namespace herald {

template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  explicit Ref(T* object) noexcept : object_(object) { retain(); }
  Ref(const Ref& other) noexcept : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ~Ref() { release(); }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  // Adopts a count that the caller already holds.
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  T* leak() noexcept { return std::exchange(object_, nullptr); }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  void retain() noexcept {
    if (object_ != nullptr) object_->retain();
  }
  void release() noexcept {
    if (object_ != nullptr) object_->release();
  }
  T* object_ = nullptr;
};

}  // namespace herald
