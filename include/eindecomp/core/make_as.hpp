// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Objects behind pointers to their base. std::make_unique and std::make_shared compile some
/// fifteen functions for every type of object; here the base has them, for all.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace eindecomp::core {

/// A new T, deleted through Base.
/// @{
template <class Base, class T, class... Args>
[[nodiscard]] std::unique_ptr<const Base> make_unique_as(Args&&... args) {
  static_assert(std::has_virtual_destructor_v<Base>);
  const Base* object = new const T(std::forward<Args>(args)...);
  return std::unique_ptr<const Base>(object);
}
template <class Base, class T, class... Args>
[[nodiscard]] std::shared_ptr<const Base> make_shared_as(Args&&... args) {
  static_assert(std::has_virtual_destructor_v<Base>);
  const Base* object = new const T(std::forward<Args>(args)...);
  return std::shared_ptr<const Base>(object);
}
/// @}

}  // namespace eindecomp::core
