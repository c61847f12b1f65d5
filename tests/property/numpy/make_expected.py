# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes expected.hpp: what NumPy gives for the einsum forms of its documentation and opt_einsum's.

    python -m venv env && env/bin/pip install numpy && env/bin/python make_expected.py

All forms of both documentations (and of opt_einsum's own tests) that have no ellipsis and no
repeated output label. Inputs are whole numbers by a formula that numpy_test.cpp repeats.
"""

import numpy

# NumPy: the docstrings of numpy.einsum and numpy.einsum_path.
NUMPY = """ii ii->i ij->i ij->j ij-> ij ji ij->ji i,i ij,j ij,j->i j,ij ,ij ,ij->ij i, , i,j i,j->ij
ijk,jil->kl ijk,jil kj,ji->ki ki,jk->ij ki,kj->ij ki,kj->ji i->  i
ijk,ilm,njm,nlk,abc-> ij,jk,kl->il ij,jk,kl ijk->kji ijk,ijk->i bij,bjk->bik bij,bj->bi""".split()

# opt_einsum: its documentation and tests.
OPT_EINSUM = """ea,fb,abcd,gc,hd->efgh pi,qj,ijkl,rk,sl->pqrs bdik,acaj,ikab,ajac,ikbd ab,bc,cd,de
ab,bc->ac ab,bc->ca dbj,bja,cjd->ac a,ab,abc->abc a,b,ab->ab ea,fb,gc,hd,abcd->efgh
abcd,ea,fb,gc,hd->efgh acdf,jbje,gihb,hfac,gfac,gifabc,hfac cd,bdhe,aidb,hgca,gc,hgibcd,hgac
abhe,hidj,jgba,hiab,gab bde,cdh,agdb,hica,ibd,hgicd,hiac chd,bde,agbc,hiad,hgc,hgi,hiad
chd,bde,agbc,hiad,bdi,cgh,agdb bdhe,acad,hiab,agac,hibd ab,ab,c-> ab,ab,c->c ab,ab,cd,cd->
ab,ab,cd,cd->ac ab,ab,cd,cd->cd ab,ab,cd,cd,ef,ef-> ab,cd,ef->abcdef ab,cd,ef->acdf
ab,cd,de->abcde ab,cd,de->be ab,bcd,cd->abcd ab,bcd,cd->abd eb,cb,fb->cef dd,fb,be,cdb->cef
bca,cdb,dbf,afc-> dcc,fce,ea,dbf->ab fdf,cdd,ccd,afe->ae abcd,ad ed,fcd,ff,bcf->be
baa,dcf,af,cde->be bd,db,eac->ace fff,fae,bef,def->abd efc,dbc,acf,fd->abe ab,ab ab,ba abc,abc
abc,bac abc,cba ab,bc ab,cb ba,bc ba,cb abcd,cd abcd,ab abcd,cdef abcd,cdef->feba abcd,efdc
aab,bc->ac ab,bcc->ac aab,bcc->ac baa,bcc->ac aab,ccb->ac aab,fa,df,ecc->bde ecb,fef,bad,ed->ac
bcf,bbb,fbf,fc-> bb,ff,be->e bcb,bb,fc,fff-> fbb,dfd,fc,fc-> afd,ba,cc,dc->bf adb,bc,fa,cfc->d
bbd,bda,fc,db->acf dba,ead,cad->bce aef,fbc,dca->bde""".split()


EXTENTS = dict(zip("abcdefghijklmnopqrs", (2, 3, 2, 3, 4, 2, 3, 2, 2, 3, 4, 5, 3, 2, 4, 2, 3, 2, 3)))


def extent(label):
    return EXTENTS[label]


def values(shape, operand):
    """Whole numbers from -3 to 3."""
    n = numpy.arange(int(numpy.prod(shape, dtype=int)))
    return ((n * n + 3 * n + 5 * operand + 2) % 7 - 3).astype(float).reshape(shape)


def main():
    forms = list(dict.fromkeys(NUMPY + OPT_EINSUM))
    lines = []
    for form in forms:
        operands = form.split("->")[0].split(",")
        shapes = [tuple(extent(label) for label in operand) for operand in operands]
        arrays = [values(shape, operand) for operand, shape in enumerate(shapes)]
        result = numpy.einsum(form, *arrays, optimize=len(arrays) > 2)
        ranks = ", ".join(str(len(shape)) for shape in shapes)
        braces = ", ".join("{" + ", ".join(map(str, shape)) + "}" for shape in shapes)
        numbers = ", ".join(str(int(x)) for x in numpy.asarray(result).ravel())
        lines.append(f'  visit.template operator()<"{form}", {result.ndim}, {ranks}>('
                     f"{{{{{braces}}}}}, {{{numbers}}});")
    half = len(lines) // 2
    with open("expected.hpp", "w") as file:
        file.write("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
                   "// Written by make_expected.py with NumPy "
                   f"{numpy.__version__}. {len(forms)} forms.\n// clang-format off\n#pragma once\n\n"
                   "// visit<form, rank of the result, ranks of the operands…>(their extents, the "
                   "result's elements)\n")
        for name, part in ("first", lines[:half]), ("second", lines[half:]):
            file.write(f"template <class Visit>\nvoid {name}_half(const Visit& visit) {{\n"
                       + "\n".join(part) + "\n}\n")


if __name__ == "__main__":
    main()
