// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Inputs that are read from files and results that are written to them, by every rank its own
/// blocks. Not part of the umbrella; the formats are in tools (tools/npy.hpp).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/tensor_file.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/result_memory.hpp"
#include "eindecomp/run/run.hpp"
#include "eindecomp/run/session.hpp"
#include "eindecomp/run/transport.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp {
namespace run {

/// "12 x 10 of double".
[[nodiscard]] inline std::string shape_text(const StoredShape& shape) {
  return extents_text(shape.bound) + " of " + expr::element_text(shape.element).str();
}

/// Which way elements go.
enum class Copied : std::uint8_t { to_host, from_host };

/// Shows dense memory of Space on the host, box by box: calls visit(part, its elements). Where the
/// host cannot reach the memory, parts are copied before that or after it. Fences `space`.
template <class Space, class Visit>
void for_each_part_on_host(const Space& space, const Box& box, void* memory, int bytes, Copied way,
                           const Visit& visit) {
  using MemorySpace = typename Space::memory_space;
  compat::fence(space, "EinDecomp::file");
  if constexpr (host_reaches<Space>) {
    visit(box, memory);
  } else {
    using Host = Kokkos::View<char*, Kokkos::HostSpace>;
    using There = Kokkos::View<char*, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    const Extent most = std::max<Extent>(tuning::slab_bytes / bytes, 1);
    const Host host(Kokkos::view_alloc(Kokkos::WithoutInitializing, "EinDecomp::file"),
                    static_cast<std::size_t>(std::min(box.size(), most) * bytes));
    for_each_slab(box, most, [&](const Box& part, Extent first) {
      const auto size = static_cast<std::size_t>(part.size() * bytes);
      const There there(static_cast<char*>(memory) + first * bytes, size);
      const auto here = Kokkos::subview(host, std::pair<std::size_t, std::size_t>(0, size));
      if (way == Copied::to_host) {
        Kokkos::deep_copy(space, here, there);
        compat::fence(space, "EinDecomp::file");
      }
      visit(part, host.data());
      if (way == Copied::from_host) {
        Kokkos::deep_copy(space, there, here);
        compat::fence(space, "EinDecomp::file");
      }
    });
  }
}

/// Begins a file of one tensor, or of several.
[[nodiscard]] inline std::vector<PartialFile> begin_file(const TensorFile& file,
                                                         const std::vector<NamedShape>& tensors,
                                                         const std::source_location& where) {
  return {file.begin(tensors.front().shape, where)};
}
[[nodiscard]] inline std::vector<PartialFile> begin_file(const TensorArchive& archive,
                                                         const std::vector<NamedShape>& tensors,
                                                         const std::source_location& where) {
  return archive.begin(tensors, where);
}

/// Tells all ranks what the first one began: where the elements of each tensor go.
template <comm::Communicator Group>
void share_begun(Group& group, std::vector<PartialFile>& partial) {
  std::string begun;
  for (const PartialFile& tensor : partial) begun += std::to_string(tensor.offset) + ' ';
  begun = group.all_gather(begun + partial.front().path)[0];
  std::size_t at = 0;
  for (PartialFile& tensor : partial) {
    tensor.offset = std::stoll(begun.substr(at));
    at = begun.find(' ', at) + 1;
  }
  for (PartialFile& tensor : partial) tensor.path = begun.substr(at);
}

/// Writes tensors, one at least, of which every rank has blocks, to a file. Collective.
/// \param source      what every rank must take them from alike
/// \param take        called within an agreement; returns what the tensors are
/// \param write_mine  calls its argument as write(tensor's number, box, elements on the host) for
///   this rank's blocks
template <comm::Communicator Group, class File, class Take, class WriteMine>
void write_together(Group& group, const comm::Call& call, const File& file,
                    const std::source_location& where, const comm::Fingerprint& source,
                    const Take& take, const WriteMine& write_mine) {
  core::Hasher name;
  name.add(file.name());
  std::vector<NamedShape> tensors;
  std::vector<PartialFile> partial;
  relation::UnfinishedFile unfinished;
  const auto is_first = [&group] { return group.rank() == 0; };
  comm::agree_on(group, call,
                 [&] {
                   tensors = take();
                   partial.resize(tensors.size());
                   if (!is_first()) return;
                   partial = begin_file(file, tensors, where);
                   unfinished = relation::UnfinishedFile(partial.front().path);
                 },
                 {source, {"files", "write to the same file on every rank", name.value(), [&] {
                             return std::vector<std::string>{file.name()};
                           }}});
  comm::or_abort(
      group, call, [] { return ""; }, [&] { share_begun(group, partial); });
  comm::agree_on(group, call, [&] {
    write_mine([&](std::size_t n, const Box& box, const void* elements) {
      file.write(partial[n], tensors[n].shape, box, elements, where);
    });
  });
  comm::agree_on(group, call, [&] {
    if (!is_first()) return;
    file.finish(partial.front(), where);
    unfinished.keep();
  });
}

/// Writes results of runs.
struct ResultFiles {
  template <class Space, comm::Communicator Group, class File>
  static void save(const Run<Space, Group>& run, const std::vector<TensorReference>& results,
                   const File& file, const std::source_location& where) {
    const auto& session = *run.m_session;
    const Text names =
        core::joined(results, ", ", [](const TensorReference& tensor) { return tensor.name; });
    std::vector<VertexId> vertices;
    write_together(
        run.m_session->control, comm::Call("saving of " + names.str(), where), file, where,
        same_run(run.m_number),
        [&] {
          if (results.empty()) {
            core::fail(ErrorKind::io,
                       Text("no tensor is to be written to ") + Text(file.name()) +
                           "; name the results that are",
                       where);
          }
          std::vector<NamedShape> tensors;
          for (const TensorReference& tensor : results) {
            const Vertex& named = session.graph[session.vertex_of(tensor, where)];
            vertices.push_back(run.result({tensor, named.element, named.rank(), where}));
            tensors.push_back({named.name, {named.element, named.bound}});
          }
          return tensors;
        },
        [&](const auto& write) {
          for (std::size_t n = 0; n < vertices.size(); ++n) {
            for (int b : session.stored_buffers(vertices[n])) {
              for_each_part_on_host(
                  run.m_space, session.program.buffers[to_index(b)].box,
                  run.m_results[run.m_session->result_number(b)]->data(),
                  static_cast<int>(session.graph[vertices[n]].element.bytes), Copied::to_host,
                  [&](const Box& part, const void* elements) { write(n, part, elements); });
            }
          }
        });
  }
};

/// A tensor by its symbol or its name, in a list of such.
struct AnyTensor : TensorReference {
  template <TensorName Symbol>
  // NOLINTNEXTLINE(google-explicit-constructor): lists are written {Y, "Z"}.
  AnyTensor(const Symbol& symbol) : TensorReference(reference_to(symbol)) {}
};

}  // namespace run

/// An input's data in a file; made by bind_file.
struct FileBinding {
  /// Which input.
  run::BindingFacts facts;
  /// Where its elements are.
  std::shared_ptr<const TensorFile> file;

  /// The same binding of a file that stays as it is: the first run reads it, later ones do not. As
  /// ViewBinding::constant().
  [[nodiscard]] FileBinding constant() const {
    FileBinding same = *this;
    same.facts.constant = true;
    return same;
  }

  /// For a run on Space.
  template <class Space>
  // NOLINTNEXTLINE(google-explicit-constructor): a binding of any kind is a binding.
  operator Binding<Space>() const {
    return Binding<Space>(facts, [source = file](const Space& space, const Vertex& input,
                                                 const Box& box, void* into) {
      const StoredShape shape{input.element, input.bound};
      run::for_each_part_on_host(
          space, box, into, static_cast<int>(shape.element.bytes), run::Copied::from_host,
          [&](const Box& part, void* elements) { source->read(shape, part, elements); });
    });
  }
};

namespace run {
template <>
inline constexpr bool is_binding<FileBinding> = true;
}  // namespace run

/// An input that lies in a file: `bind_file(X, NpyFile("x.npy"))`. Every rank reads the blocks that
/// the plan stores there, and nothing else, when the run starts; each run reads them anew unless
/// the binding is constant(). All ranks see the file under that path. Not collective.
///
/// The run throws an Error of kind `io`, on all ranks alike, that names file and input if the file
/// cannot be read, is damaged or too short, or has a tensor of other elements or extents.
template <TensorName Symbol, std::derived_from<TensorFile> File>
[[nodiscard]] FileBinding bind_file(Symbol&& symbol, File file,
                                    std::source_location where = std::source_location::current()) {
  FileBinding binding{{}, std::make_shared<const File>(std::move(file))};
  binding.facts.tensor = run::reference_to(symbol);
  binding.facts.where = where;
  binding.facts.kind = run::BindingKind::file;
  binding.facts.file = binding.file->name();
  binding.facts.check = [source = binding.file, where](const Vertex& input) {
    StoredShape found;
    try {
      found = source->shape_for(input.element);
    } catch (const Error& error) {
      throw Error(error.kind(), "input " + input.name + " is bound to " + Text(error.sentence()),
                  where);
    }
    const StoredShape wanted{input.element, input.bound};
    if (found == wanted) return;
    throw Error(ErrorKind::io,
                "input " + input.name + " is " + run::shape_text(wanted) + " and is bound to " +
                    source->name() + ", which has " + run::shape_text(found) +
                    " (elements are neither converted nor rearranged); name another file, or "
                    "declare the input so",
                where);
  };
  return binding;
}

/// Writes a result to a file, every rank its own blocks: `save(run, Y, NpyFile("y.npy"))`. The
/// file replaces what was at the path as a whole when all ranks have written, or, on an error, not
/// at all. All ranks see the folder under that path. Collective; fences the run's space instance.
/// \throws Error, on all ranks alike, if on any the symbol is not a result, ranks name different
///   files, the format has no such elements, or the file cannot be written.
template <class Space, comm::Communicator Group, TensorName Symbol>
void save(const Run<Space, Group>& run, const Symbol& symbol, const TensorFile& file,
          std::source_location where = std::source_location::current()) {
  run::ResultFiles::save(run, {run::reference_to(symbol)}, file, where);
}

/// Writes several results to one file, under their names: `save(run, {W, B},
/// SafetensorsArchive("model.safetensors"))`. As of one.
/// \throws Error as for one, and if no result is given or two have one name.
template <class Space, comm::Communicator Group>
void save(const Run<Space, Group>& run, std::initializer_list<run::AnyTensor> symbols,
          const TensorArchive& archive,
          std::source_location where = std::source_location::current()) {
  run::ResultFiles::save(run, std::vector<run::TensorReference>(symbols.begin(), symbols.end()),
                         archive, where);
}
/// The same of a vector of symbols or names.
template <class Space, comm::Communicator Group, TensorName Symbol>
void save(const Run<Space, Group>& run, const std::vector<Symbol>& symbols,
          const TensorArchive& archive,
          std::source_location where = std::source_location::current()) {
  std::vector<run::TensorReference> results;
  for (const Symbol& symbol : symbols) results.push_back(run::reference_to(symbol));
  run::ResultFiles::save(run, results, archive, where);
}

}  // namespace eindecomp
