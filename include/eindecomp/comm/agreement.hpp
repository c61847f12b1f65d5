// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Failing together: what one rank finds wrong, every rank throws, instead of some waiting forever.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/same_text.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"

namespace eindecomp::comm {

/// Something every rank must hold alike, by a hash of it.
struct Fingerprint {
  std::string_view what;    ///< "programs", as in "ranks hold different programs"
  std::string_view advice;  ///< what to do about it
  std::uint64_t value = 0;  ///< the hash
  /// What it is in lines, of which the first that differs is told; called where hashes differ.
  std::function<std::vector<std::string>()> lines = {};
};

/// What went wrong on one rank.
struct Failure {
  ErrorKind kind = ErrorKind::user;  ///< of the Error; of any other exception, user
  std::string sentence;              ///< an exception's what()
};

/// What an exception says went wrong.
[[nodiscard]] inline Failure failure_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& e) {
    return {e.kind(), e.what()};
  } catch (const std::bad_alloc& e) {
    return {ErrorKind::memory, e.what()};
  } catch (const std::exception& e) {
    return {ErrorKind::user, e.what()};
  } catch (...) {
    return {ErrorKind::user, "unknown exception"};
  }
}

namespace detail {

/// An Error's sentence without the prefix that the next Error adds again.
inline std::string_view bare(std::string_view sentence) {
  constexpr std::string_view prefix = "EinDecomp: ";
  if (sentence.substr(0, prefix.size()) == prefix) sentence.remove_prefix(prefix.size());
  return sentence;
}

/// Throws an Error that cites no place, for it has none that is the same on all ranks.
[[noreturn]] inline void fail_together(ErrorKind kind, std::string_view sentence) {
  throw Error(kind, sentence, std::source_location{});
}

/// The first of their lines that ranks do not share, and who has which, as "rank 0 has X; rank 1
/// has Y"; empty if they share all. Collective.
template <Communicator Group>
std::string first_difference(Group& group, const std::vector<std::string>& lines) {
  // Lines may be long and many: they are found by their hashes.
  std::vector<std::uint64_t> hashes;
  for (const std::string& line : lines) {
    core::Hasher hasher;
    hasher.add(line);
    hashes.push_back(hasher.value());
  }
  constexpr std::size_t bytes = sizeof(std::uint64_t);
  const std::string own(reinterpret_cast<const char*>(hashes.data()), bytes * hashes.size());
  std::size_t differ = std::string::npos;
  for (const std::string& theirs : group.all_gather(own)) {
    const auto [a, b] = std::ranges::mismatch(own, theirs);
    if (a == own.end() && b == theirs.end()) continue;
    differ = std::min(differ, static_cast<std::size_t>(a - own.begin()) / bytes);
  }
  // Of three ranks, two may differ later from each other than from the third.
  std::vector<std::uint64_t> first{~static_cast<std::uint64_t>(differ)};
  group.maximum(first);
  differ = static_cast<std::size_t>(~first[0]);
  if (differ == std::string::npos) return {};
  const auto groups =
      group_by_text(group.all_gather(differ < lines.size() ? lines[differ] : "none"));
  return tell_groups(groups, [](const SameText& g) {
    return name_ranks(g.ranks) + (g.ranks.size() == 1 ? " has " : " have ") + g.text;
  });
}

}  // namespace detail

/// Returns if no rank failed and all are in the same call; otherwise every rank throws the same
/// Error, which names the ranks that failed and why. With fingerprints, ranks that hold different
/// things count as a failure. Collective; one reduction of a few words when all is well.
/// \param failure this rank's failure.
/// \param vote  of this rank, and afterwards whether any rank votes for it.
template <Communicator Group>
void agree(Group& group, const Call& call, const std::optional<Failure>& failure,
           const std::vector<Fingerprint>& fingerprints = {}, bool* vote = nullptr) {
  using core::joined;
  // The maximum of a value and of its complement are complementary only if all ranks agree. Ranks
  // in different calls may have different fingerprints, but reduce as many words.
  core::Hasher calls;
  calls.add(call.what());
  core::Hasher all;
  for (const Fingerprint& f : fingerprints) all.add(f.value);
  group.begin(call);
  constexpr std::uint64_t voted = 1;  // less than a failure, after which votes do not count
  constexpr std::uint64_t failed = 2;
  const std::uint64_t own = failure.has_value() ? failed : vote != nullptr && *vote ? voted : 0;
  std::vector<std::uint64_t> summary{own, calls.value(), ~calls.value(), all.value(), ~all.value()};
  group.maximum(summary);
  const auto differ = [&summary](std::size_t at) { return summary[at] != ~summary[at + 1]; };

  if (differ(1)) {
    const std::string who = detail::tell_groups(
        detail::group_by_text(group.all_gather(call.text())),
        [](const auto& g) { return detail::name_ranks(g.ranks) + ": " + g.text; });
    detail::fail_together(ErrorKind::ranks,
                          "ranks are in different calls (" + who +
                              "); make the same calls in the same order on every rank");
  }
  if (summary[0] == failed) {
    // The kind travels as a letter before the sentence.
    std::string mine;
    if (failure.has_value()) {
      mine = static_cast<char>('a' + static_cast<int>(failure->kind));
      mine += failure->sentence.empty() ? "unknown failure" : detail::bare(failure->sentence);
    }
    const std::vector<detail::SameText> groups = detail::group_by_text(group.all_gather(mine));
    const auto kind = static_cast<ErrorKind>(groups.front().text.front() - 'a');
    detail::fail_together(kind, detail::tell_groups(groups, [&](const auto& g) {
                            return detail::name_ranks(g.ranks) + " of " +
                                   std::to_string(group.size()) + ": " + g.text.substr(1);
                          }));
  }
  if (vote != nullptr) *vote = summary[0] == voted;
  if (!differ(3)) return;
  for (const Fingerprint& f : fingerprints) {
    const std::vector<detail::SameText> groups =
        detail::group_by_text(group.all_gather(std::to_string(f.value)));
    if (groups.size() == 1) continue;
    std::string who;
    if (f.lines) who = detail::first_difference(group, f.lines());
    if (who.empty()) {
      who = detail::tell_groups(groups, [](const auto& g) {
        return detail::name_ranks(g.ranks) + (g.ranks.size() == 1 ? " has one" : " share one");
      });
    }
    const Text where = joined(detail::group_by_text(group.all_gather(call.text())), " and ",
                              [](const auto& g) { return Text(g.text); });
    detail::fail_together(ErrorKind::ranks, "ranks hold different " + Text(f.what) + " in " +
                                                where + " (" + who + "); " + Text(f.advice));
  }
}

/// Runs `work` on this rank and agrees on the outcome: if it throws anywhere, all ranks throw the
/// same Error. `work` must not communicate. Collective.
/// \param vote  that `work` may cast; as agree() has it.
template <Communicator Group, class Work>
void agree_on(Group& group, const Call& call, const Work& work,
              const std::vector<Fingerprint>& fingerprints = {}, bool* vote = nullptr) {
  std::optional<Failure> failure;
  try {
    work();
  } catch (...) {
    failure = failure_of(std::current_exception());
  }
  agree(group, call, failure, fingerprints, vote);
}

}  // namespace eindecomp::comm
