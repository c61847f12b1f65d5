// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The 48 contractions of the tensor contraction code generator benchmark (TCCG: Springer and
// Bientinesi, "Design of a high-performance GEMM-like tensor-tensor multiplication"), their extents
// reduced so that the tensors of a case take some 100 MB of double and a run some 0.3 s. As there,
// the first labels of tensors stay multiples of 24 and the others of 4 where they are long.
#pragma once

#include <string>
#include <vector>

#include "eindecomp/core/types.hpp"

namespace benchmark_cases {

struct ContractionCase {
  std::string text;                        ///< as einsum takes it, tensors column-major
  std::vector<eindecomp::Extent> extents;  ///< of a, b, c, …
};

inline std::vector<ContractionCase> tccg() {
  std::vector<ContractionCase> cases{
      {"bda,dc->abc", {216, 216, 24, 216}},          {"dca,bd->abc", {216, 24, 224, 216}},
      {"dbea,ec->abcd", {48, 68, 24, 48, 48}},       {"deca,be->abcd", {48, 24, 60, 48, 60}},
      {"ebad,ce->abcd", {48, 60, 24, 60, 48}},       {"efbad,cf->abcde", {24, 20, 24, 20, 24, 20}},
      {"ecbfa,fd->abcde", {24, 20, 20, 24, 24, 24}}, {"efcad,bf->abcde", {24, 24, 20, 20, 24, 20}},
      {"ea,ebcd->abcd", {48, 48, 48, 48, 48}},       {"eb,aecd->abcd", {48, 48, 48, 48, 48}},
      {"ec,abed->abcd", {48, 48, 48, 48, 48}},       {"ac,cb->ab", {2016, 2028, 2016}},
      {"acd,dbc->ab", {168, 180, 180, 168}},         {"cad,dcb->ab", {168, 180, 168, 168}},
      {"acd,db->abc", {168, 180, 180, 168}},         {"ad,bdc->abc", {168, 168, 180, 180}},
      {"adc,bd->abc", {168, 168, 180, 180}},         {"adc,db->abc", {168, 180, 180, 168}},
      {"adec,ebd->abc", {48, 68, 68, 68, 48}},
  };
  for (const char* operands :
       {"aebf,dfce", "aebf,fdec", "aecf,bfde", "aecf,fbed", "aedf,bfce", "aedf,fbec", "aefb,fdce",
        "aefc,fbed", "eafb,fdec", "eafc,bfde", "eafd,fbec"}) {
    cases.push_back({std::string(operands) + "->abcd", {48, 48, 48, 48, 48, 48}});
  }
  for (const char* operands :
       {"dega,gfbc", "degb,gfac", "degc,gfab", "dfga,gebc", "dfgb,geac", "dfgc,geab"}) {
    cases.push_back({std::string(operands) + "->abcdef", {24, 12, 12, 24, 12, 12, 24}});
  }
  for (const char* operands :
       {"efga,gdbc", "efgb,gdac", "efgc,gdab", "gdab,efgc", "gdac,efgb", "gdbc,efga"}) {
    cases.push_back({std::string(operands) + "->abcdef", {24, 12, 12, 12, 24, 12, 24}});
  }
  for (const char* operands :
       {"geab,dfgc", "geac,dfgb", "gebc,dfga", "gfab,degc", "gfac,degb", "gfbc,dega"}) {
    cases.push_back({std::string(operands) + "->abcdef", {24, 12, 12, 24, 12, 12, 24}});
  }
  return cases;
}

/// Long sums of few outputs, as gradients by weights over a batch are.
inline std::vector<ContractionCase> long_sums() {
  std::vector<ContractionCase> cases;
  for (const char* text : {"ca,bc->ab", "ac,cb->ab"}) {
    for (const std::vector<eindecomp::Extent>& extents :
         std::vector<std::vector<eindecomp::Extent>>{{8, 8, 200000},
                                                     {8, 40, 200000},
                                                     {30, 30, 20000},
                                                     {30, 30, 200000},
                                                     {64, 64, 20000},
                                                     {64, 64, 100000},
                                                     {128, 16, 50000},
                                                     {128, 128, 20000}}) {
      cases.push_back({text, extents});
    }
  }
  return cases;
}

}  // namespace benchmark_cases
