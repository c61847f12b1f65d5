// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A shared pointer that works in constant expressions, which std::shared_ptr does not.
#pragma once

#include <atomic>
#include <type_traits>

namespace eindecomp::core {

/// How many owners an object has. A copy of the object starts without owners.
class ReferenceCount {
 public:
  constexpr ReferenceCount() = default;
  constexpr ReferenceCount(const ReferenceCount&) noexcept {}
  constexpr ReferenceCount& operator=(const ReferenceCount&) noexcept { return *this; }
  constexpr ~ReferenceCount() = default;

  constexpr void add() noexcept {
    if (std::is_constant_evaluated()) {
      ++m_count;
    } else {
      add_atomically();
    }
  }
  /// \returns whether that was the last owner.
  [[nodiscard]] constexpr bool remove() noexcept {
    if (std::is_constant_evaluated()) return --m_count == 0;
    return remove_atomically();
  }

 private:
  void add_atomically() noexcept {
    std::atomic_ref<int>(m_count).fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool remove_atomically() noexcept {
    return std::atomic_ref<int>(m_count).fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  alignas(std::atomic_ref<int>::required_alignment) int m_count = 0;
};

/// One of the owners of an object on the heap that has a public `ReferenceCount owners`; never
/// null, since moving it copies. Several threads may copy owners of one object.
template <class T>
class Shared {
 public:
  constexpr explicit Shared(T* object) : m_object(object) { m_object->owners.add(); }
  constexpr Shared(const Shared& other) noexcept : Shared(other.m_object) {}
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): counts up before it counts down.
  constexpr Shared& operator=(const Shared& other) noexcept {
    other.m_object->owners.add();
    release();
    m_object = other.m_object;
    return *this;
  }
  constexpr ~Shared() { release(); }

  [[nodiscard]] constexpr T* get() const { return m_object; }

 private:
  constexpr void release() {
    if (m_object->owners.remove()) delete m_object;
  }

  T* m_object;
};

}  // namespace eindecomp::core
