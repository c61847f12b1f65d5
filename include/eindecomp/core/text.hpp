// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Names and sentences that constant expressions can put together.
#pragma once

#include <compare>
#include <concepts>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace eindecomp {
namespace core {

/// A whole number, as opposed to a character or a truth value.
template <class T>
concept WholeNumber = std::integral<T> && !std::same_as<T, char> && !std::same_as<T, bool>;

/// The decimal digits of a whole number, its sign before them.
class Digits {
 public:
  constexpr explicit Digits(WholeNumber auto value)
      : Digits(static_cast<unsigned long long>(value), std::cmp_less(value, 0)) {}
  [[nodiscard]] constexpr std::string_view view() const {
    return {m_characters + m_first, size - m_first};
  }

 private:
  [[gnu::cold, gnu::noinline]] constexpr Digits(unsigned long long value, bool negative) {
    unsigned long long rest = negative ? 0 - value : value;
    do {
      m_characters[--m_first] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (negative) m_characters[--m_first] = '-';
  }

  static constexpr std::size_t size = 20;
  char m_characters[size]{};
  std::size_t m_first = size;
};

}  // namespace core

/// Text that is built piece by piece, by the compiler or at run time. Unlike std::string it may be
/// moved and returned in g++ 12's constant expressions, where a short std::string loses itself
/// (its pointer into itself is copied as it stands).
class Text {
 public:
  constexpr Text() = default;
  // NOLINTBEGIN(google-explicit-constructor): a text is what it is made of.
  /// A copy of the characters.
  constexpr Text(std::string_view text) : m_characters(text.begin(), text.end()) {}
  /// A copy of a zero-terminated string.
  constexpr Text(const char* text) : Text(std::string_view(text)) {}
  /// A copy of the characters.
  constexpr Text(const std::string& text) : Text(std::string_view(text)) {}

  constexpr operator std::string_view() const { return {m_characters.data(), m_characters.size()}; }
  operator std::string() const { return {m_characters.begin(), m_characters.end()}; }
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] constexpr bool empty() const { return m_characters.empty(); }
  [[nodiscard]] constexpr std::size_t size() const { return m_characters.size(); }
  [[nodiscard]] constexpr std::string_view view() const { return *this; }
  [[nodiscard]] std::string str() const { return *this; }
  constexpr void assign(std::string_view text) { m_characters.assign(text.begin(), text.end()); }

  constexpr Text& operator+=(std::string_view more) {
    m_characters.insert(m_characters.end(), more.begin(), more.end());
    return *this;
  }
  constexpr Text& operator+=(char c) {
    m_characters.push_back(c);
    return *this;
  }

  /// Appends a text, a character or a whole number. Messages are put together with it: the
  /// operators of std::string would be compiled anew for every message, which takes far longer.
  /// @{
  [[gnu::cold, gnu::noinline]] constexpr Text& operator<<(std::string_view more) {
    return *this += more;
  }
  constexpr Text& operator<<(const char* more) { return *this << std::string_view(more); }
  constexpr Text& operator<<(char c) { return *this << std::string_view(&c, 1); }
  constexpr Text& operator<<(core::WholeNumber auto number) { return append(core::Digits(number)); }
  /// @}

  friend constexpr Text operator+(Text left, const Text& right) {
    left += right.view();
    return left;
  }
  friend constexpr Text operator+(Text left, core::WholeNumber auto number) {
    left.append(core::Digits(number));
    return left;
  }
  friend constexpr bool operator==(const Text& a, const Text& b) { return a.view() == b.view(); }
  template <class S>
    requires(std::is_convertible_v<const S&, std::string_view> && !std::is_same_v<S, Text>)
  friend constexpr bool operator==(const Text& a, const S& b) {
    return a.view() == std::string_view(b);
  }
  friend constexpr auto operator<=>(const Text& a, const Text& b) { return a.view() <=> b.view(); }
  template <class Stream, class = std::enable_if_t<!std::is_same_v<Stream, Text>>>
  friend auto operator<<(Stream& stream, const Text& text)
      -> decltype(stream << std::declval<std::string_view>()) {
    return stream << text.view();
  }

 private:
  [[gnu::cold, gnu::noinline]] constexpr Text& append(const core::Digits& digits) {
    return *this += digits.view();
  }

  std::vector<char> m_characters;
};

namespace core {

/// A whole number as text.
[[nodiscard]] constexpr Text to_text(long long value) { return Digits(value).view(); }

/// What `text_of` says of each element of a range, with a separator between.
template <class Range, class TextOf>
[[nodiscard]] constexpr Text joined(const Range& range, std::string_view separator,
                                    const TextOf& text_of) {
  Text text;
  bool first = true;
  for (const auto& element : range) {
    if (!first) text += separator;
    first = false;
    text += text_of(element);
  }
  return text;
}

/// Extents of a tensor: "512 x 1024"; "a scalar" where there are none.
template <class Range>
[[nodiscard]] constexpr Text extents_text(const Range& extents) {
  return std::empty(extents) ? Text("a scalar") : joined(extents, " x ", to_text);
}

}  // namespace core
}  // namespace eindecomp
