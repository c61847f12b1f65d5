// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Tensors in HDF5 files, for bind_file() and save() of run/tensor_files.hpp, or read into this
/// process. Needs the HDF5 library (1.10 or newer), parallel or not: every process reads by itself,
/// and writes elements to the place that the library gave them.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/stored_tensor.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/tensor_file.hpp"
#include "eindecomp/tools/file_boxes.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace eindecomp {
namespace tools {

/// Something of HDF5's that is closed in the end.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : m_id(id), m_close(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : m_id(std::exchange(other.m_id, H5I_INVALID_HID)), m_close(other.m_close) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(m_id, other.m_id);
    std::swap(m_close, other.m_close);
    return *this;
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  ~Hdf5Handle() { static_cast<void>(close()); }

  [[nodiscard]] hid_t id() const { return m_id; }
  [[nodiscard]] bool is_open() const { return m_id >= 0; }
  /// Closes it now. \returns whether that could be done.
  bool close() { return m_id < 0 || m_close(std::exchange(m_id, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t m_id;
  herr_t (*m_close)(hid_t);
};

/// While it lives, HDF5 prints nothing of its errors, which are thrown here.
class Hdf5Silence {
 public:
  Hdf5Silence() {
    H5Eget_auto2(H5E_DEFAULT, &m_print, &m_data);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  Hdf5Silence(const Hdf5Silence&) = delete;
  Hdf5Silence& operator=(const Hdf5Silence&) = delete;
  ~Hdf5Silence() { H5Eset_auto2(H5E_DEFAULT, m_print, m_data); }

 private:
  H5E_auto2_t m_print = nullptr;
  void* m_data = nullptr;
};

/// HDF5's type of elements in memory; not open where it has none. Complex numbers are compounds of
/// "r" and "i", as h5py has them.
[[nodiscard]] inline Hdf5Handle hdf5_type(ElementType element) {
  const auto complex = [](hid_t part) {
    const std::size_t size = H5Tget_size(part);
    Hdf5Handle made(H5Tcreate(H5T_COMPOUND, 2 * size), H5Tclose);
    H5Tinsert(made.id(), "r", 0, part);
    H5Tinsert(made.id(), "i", size, part);
    return made;
  };
  // Of 2 bytes, in any version of the library.
  const auto half = [](std::size_t mantissa_bits, std::size_t bias) {
    Hdf5Handle made(H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose);
    H5Tset_fields(made.id(), 15, mantissa_bits, 15 - mantissa_bits, 0, mantissa_bits);
    H5Tset_size(made.id(), 2);
    H5Tset_ebias(made.id(), bias);
    return made;
  };
  switch (element.kind) {
    case ElementKind::float32:
      return {H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose};
    case ElementKind::float64:
      return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
    case ElementKind::complex64:
      return complex(H5T_NATIVE_FLOAT);
    case ElementKind::complex128:
      return complex(H5T_NATIVE_DOUBLE);
    case ElementKind::int32:
      return {H5Tcopy(H5T_NATIVE_INT32), H5Tclose};
    case ElementKind::int64:
      return {H5Tcopy(H5T_NATIVE_INT64), H5Tclose};
    case ElementKind::float16:
      return half(10, 15);
    case ElementKind::bfloat16:
      return half(7, 127);
    case ElementKind::uint8:
      return {H5Tcopy(H5T_NATIVE_UINT8), H5Tclose};
    case ElementKind::int8:  // of which files are read as int32
    case ElementKind::int16:
    case ElementKind::uint16:
    case ElementKind::uint32:
    case ElementKind::uint64:
    case ElementKind::other:
      break;
  }
  return {H5I_INVALID_HID, H5Tclose};
}

/// Whether an object has attributes.
[[nodiscard]] inline bool has_hdf5_attributes(hid_t object) {
  const auto stop = [](hid_t, const char*, const H5A_info_t*, void*) -> herr_t { return 1; };
  return H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, stop, nullptr) > 0;
}

/// What a file has besides the dataset of that name and the groups on the way to it: another group
/// or dataset, or attributes; empty if there is no such thing.
[[nodiscard]] inline std::string other_in_hdf5(const Hdf5Handle& file, std::string_view dataset) {
  struct Search {
    std::string wanted = "/";  // without what a name may have, but need not
    std::string other;
  } search;
  if (has_hdf5_attributes(file.id())) return "attributes of '/'";
  for (std::size_t begin = 0; begin < dataset.size();) {
    const std::size_t end = std::min(dataset.find('/', begin), dataset.size());
    const std::string_view part = dataset.substr(begin, end - begin);
    if (!part.empty() && part != ".") search.wanted += std::string(part) + '/';
    begin = end + 1;
  }
  const auto visit = [](hid_t in, const char* name, const H5L_info_t*, void* data) -> herr_t {
    auto& found = *static_cast<Search*>(data);
    const std::string here = '/' + std::string(name) + '/';
    const Hdf5Handle object(H5Oopen(in, name, H5P_DEFAULT), H5Oclose);
    const bool is_group = H5Iget_type(object.id()) == H5I_GROUP;
    const bool is_part = found.wanted == here || (is_group && found.wanted.starts_with(here));
    if (is_part && !has_hdf5_attributes(object.id())) return 0;
    found.other = (is_part ? "attributes of '" : "'") + std::string(name) + '\'';
    return 1;  // ends the visit
  };
  H5Lvisit(file.id(), H5_INDEX_NAME, H5_ITER_INC, visit, &search);
  return search.other;
}

/// A dataset that is open for reading.
struct Hdf5Dataset {
  Hdf5Handle file;
  Hdf5Handle dataset;
  Hdf5Handle space;
  StoredShape shape;
};

}  // namespace tools

/// A tensor in an HDF5 file, a dataset of it: `bind_file(X, Hdf5File("run.h5", "fields/x"))`.
///
/// Elements are float, double, both as complex numbers (compounds of "r" and "i", as h5py has
/// them), float16, bfloat16, and integers of 32 and 64 bits, in any order of bytes; shorter
/// integers are read as 32 bits, but unsigned bytes as they are for inputs of std::uint8_t, and
/// unsigned ones of 32 bits as 64. Datasets may be chunked and compressed. What is written is a
/// file of this dataset alone, contiguous, with the groups that its name has; one that has anything
/// else, attributes among it, or that HDF5 cannot open, is not overwritten.
class Hdf5File final : public tools::DenseFile<TensorFile> {
 public:
  /// The dataset of that name in the file of that path, which need not exist before it is written.
  Hdf5File(const std::filesystem::path& path, std::string dataset)
      : DenseFile(path), m_dataset(std::move(dataset)) {}

  /// \copydoc WrittenFile::name()
  [[nodiscard]] std::string name() const override { return path() + ": " + m_dataset; }

  /// \copydoc TensorFile::shape()
  [[nodiscard]] StoredShape shape() const override { return shape_for({}); }
  /// \copydoc TensorFile::shape_for()
  [[nodiscard]] StoredShape shape_for(const ElementType& wanted) const override {
    const tools::Hdf5Silence silence;
    return open(wanted).shape;
  }

  /// \copydoc TensorFile::read()
  void read(const StoredShape& shape, const Box& box, void* into) const override {
    const tools::Hdf5Silence silence;
    const tools::Hdf5Dataset found = open(shape.element);
    tools::check_still(found.shape, shape, box, name());
    const std::vector<hsize_t> begin(box.lo.begin(), box.lo.end());
    std::vector<hsize_t> extents;
    for (int k = 0; k < box.rank(); ++k) extents.push_back(static_cast<hsize_t>(box.extent(k)));
    const tools::Hdf5Handle memory(box.rank() == 0
                                       ? H5Screate(H5S_SCALAR)
                                       : H5Screate_simple(box.rank(), extents.data(), nullptr),
                                   H5Sclose);
    const bool selected =
        box.rank() == 0 || H5Sselect_hyperslab(found.space.id(), H5S_SELECT_SET, begin.data(),
                                               nullptr, extents.data(), nullptr) >= 0;
    const tools::Hdf5Handle type = tools::hdf5_type(shape.element);
    if (!selected || H5Dread(found.dataset.id(), type.id(), memory.id(), found.space.id(),
                             H5P_DEFAULT, into) < 0) {
      fail(
          "its elements cannot be read (HDF5 failed; they may be damaged, or compressed by a "
          "filter that is not there); write the file anew");
    }
  }

  [[nodiscard]] PartialFile begin(const StoredShape& shape,
                                  const std::source_location& where) const override {
    const tools::Hdf5Silence silence;
    const tools::Hdf5Handle type = tools::hdf5_type(shape.element);
    if (!type.is_open()) {
      core::fail(ErrorKind::io,
                 "elements of " + expr::element_text(shape.element) + " cannot be written to " +
                     Text(name()) + " (float, double, complex numbers of both, float16, " +
                     "bfloat16, int32, int64 and uint8 can); " +
                     tools::otherwise_written(shape.element.kind),
                 where);
    }
    if (m_dataset.empty() || m_dataset.ends_with('/')) {
      core::fail(ErrorKind::io,
                 "dataset '" + Text(m_dataset) + "' cannot be written to " + Text(path()) +
                     " (a dataset has a name of its own); name it",
                 where);
    }
    check_alone(where);
    const std::string what = "dataset '" + m_dataset + "'";
    relation::UnfinishedFile unfinished = tools::begin_beside(path(), what, where);
    PartialFile partial{unfinished.path()};
    if (!create(shape, type, partial)) tools::fail_to_write(what, path(), "HDF5 failed", where);
    unfinished.keep();
    return partial;
  }

 private:
  [[noreturn]] void fail(std::string_view sentence) const { tools::fail_at(name(), sentence); }

  /// \throws Error if there is a file that has more than the dataset, or may have.
  void check_alone(const std::source_location& where) const {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path(), ignored)) return;
    if (std::filesystem::file_size(path(), ignored) == 0) return;
    const tools::Hdf5Handle file(H5Fopen(path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file.is_open()) {
      core::fail(ErrorKind::io,
                 "dataset '" + Text(m_dataset) + "' cannot be written to " + Text(path()) +
                     " (there is a file that HDF5 cannot open, and what it has would be lost: it "
                     "is none of HDF5's, damaged, not readable or being written); name another "
                     "file, or remove that one",
                 where);
    }
    const std::string other = tools::other_in_hdf5(file, m_dataset);
    if (other.empty()) return;
    core::fail(ErrorKind::io,
               "dataset '" + Text(m_dataset) + "' cannot be written to " + Text(path()) +
                   " (the file has " + Text(other) +
                   ", which would be lost: what is written is a file of one dataset); name "
                   "another file, or remove that one",
               where);
  }

  [[nodiscard]] tools::Hdf5Dataset open(const ElementType& wanted) const {
    std::error_code ignored;
    if (!std::filesystem::exists(path(), ignored)) {
      fail("there is no such file; name one that exists and is readable");
    }
    tools::Hdf5Handle file(H5Fopen(path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file.is_open()) {
      fail(
          "the file cannot be opened (it is no HDF5 file, cut short, not readable, or being "
          "written); name another");
    }
    tools::Hdf5Handle dataset(H5Dopen2(file.id(), m_dataset.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset.is_open()) fail("the file has no such dataset; name one that it has");
    tools::Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
    StoredShape shape{element_of(dataset, wanted), {}};
    if (H5Sget_simple_extent_type(space.id()) == H5S_NULL) {
      fail("the dataset is empty (a tensor has elements); name another");
    }
    std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.id())));
    H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr);
    if (extents.size() > max_rank) {
      fail(Text("the dataset has ") + extents.size() + " dimensions (a tensor has at most " +
           max_rank + "); reshape it");
    }
    for (const hsize_t extent : extents) {
      if (extent == 0) fail("a dimension has extent 0 (a tensor has elements); write another");
      shape.bound.push_back(static_cast<Extent>(std::min<hsize_t>(extent, max_elements + 1)));
    }
    if (!has_countable_elements(shape.bound)) {
      fail("the dataset has more elements than a tensor may have, 2^57; name another");
    }
    return {std::move(file), std::move(dataset), std::move(space), std::move(shape)};
  }

  [[nodiscard]] ElementType element_of(const tools::Hdf5Handle& dataset,
                                       const ElementType& wanted) const {
    const tools::Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
    const std::size_t size = H5Tget_size(type.id());
    const H5T_class_t is = H5Tget_class(type.id());
    if (is == H5T_FLOAT && size == 4) return {ElementKind::float32, 4};
    if (is == H5T_FLOAT && size == 8) return {ElementKind::float64, 8};
    if (is == H5T_FLOAT && size == 2) {
      const bool brain = H5Tget_ebias(type.id()) == 127;
      return {brain ? ElementKind::bfloat16 : ElementKind::float16, 2};
    }
    if (is == H5T_INTEGER) {
      const std::size_t bits = 8 * size + (H5Tget_sign(type.id()) == H5T_SGN_NONE ? 1 : 0);
      if (bits == 9 && wanted == element_type<std::uint8_t>()) return wanted;
      if (bits <= 32) return {ElementKind::int32, 4};
      if (bits <= 64) return {ElementKind::int64, 8};
    }
    if (is == H5T_COMPOUND && H5Tget_nmembers(type.id()) == 2) {
      const int parts[] = {H5Tget_member_index(type.id(), "r"),
                           H5Tget_member_index(type.id(), "i")};
      const auto are_floats_of = [&](std::size_t bytes) {
        return std::ranges::all_of(parts, [&](int part) {
          if (part < 0) return false;
          const auto member = static_cast<unsigned>(part);
          const tools::Hdf5Handle of(H5Tget_member_type(type.id(), member), H5Tclose);
          return H5Tget_class(of.id()) == H5T_FLOAT && H5Tget_size(of.id()) == bytes;
        });
      };
      if (are_floats_of(4)) return {ElementKind::complex64, 8};
      if (are_floats_of(8)) return {ElementKind::complex128, 16};
    }
    fail(
        "its elements are of a type that no tensor has (float, double, float16, bfloat16, "
        "compounds of two floats or doubles called r and i, and integers of up to 64 bits with a "
        "sign or up to 32 without can be read); convert them");
  }

  /// Creates a file with room for the tensor; notes where. \returns whether that could be done.
  [[nodiscard]] bool create(const StoredShape& shape, const tools::Hdf5Handle& type,
                            PartialFile& partial) const {
    tools::Hdf5Handle file(H5Fcreate(partial.path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT),
                           H5Fclose);
    const std::vector<hsize_t> extents(shape.bound.begin(), shape.bound.end());
    const tools::Hdf5Handle space(
        extents.empty()
            ? H5Screate(H5S_SCALAR)
            : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
        H5Sclose);
    const tools::Hdf5Handle with_groups(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(with_groups.id(), 1);
    const tools::Hdf5Handle at_once(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_layout(at_once.id(), H5D_CONTIGUOUS);
    H5Pset_alloc_time(at_once.id(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(at_once.id(), H5D_FILL_TIME_NEVER);
    if (!file.is_open()) return false;
    tools::Hdf5Handle dataset(H5Dcreate2(file.id(), m_dataset.c_str(), type.id(), space.id(),
                                         with_groups.id(), at_once.id(), H5P_DEFAULT),
                              H5Dclose);
    if (!dataset.is_open()) return false;
    const haddr_t offset = H5Dget_offset(dataset.id());
    partial.offset = static_cast<std::int64_t>(offset);
    return offset != HADDR_UNDEF && dataset.close() && file.close();
  }

  std::string m_dataset;
};

/// Reads a dataset of an HDF5 file, `read_hdf5("run.h5", "x")`, the elements in row-major order.
/// The tensor is called as the dataset. Unsigned bytes are read as 32-bit integers.
/// \throws Error, which begins with path and dataset, if there is no such file or dataset, or it
///   has elements that Hdf5File does not have.
[[nodiscard]] inline StoredTensor read_hdf5(const std::filesystem::path& path,
                                            const std::string& dataset) {
  const Hdf5File file(path, dataset);
  const StoredShape shape = file.shape();
  const Box whole = Box::whole(shape.bound);
  StoredTensor tensor{Text(dataset), shape.element, shape.bound, {}};
  tensor.bytes.resize(static_cast<std::size_t>(whole.size() * shape.element.bytes));
  file.read(shape, whole, tensor.bytes.data());
  return tensor;
}

}  // namespace eindecomp
