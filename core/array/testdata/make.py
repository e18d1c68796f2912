"""Writes the arrays that the tests of core/array read, with NumPy: python3 make.py, in this directory."""

import numpy as np

one = np.arange(24, dtype="<i4").reshape(2, 3, 4)
np.save("c.npy", one)
np.save("fortran.npy", np.asfortranarray(one))
np.save("big.npy", one.astype(">i4"))
np.save("big_fortran.npy", np.asfortranarray(one.astype(">i4")))
np.save("scalar.npy", np.float64(1.5))
np.save("empty.npy", np.zeros((0, 3), "<f4"))
np.save("bool.npy", np.array([True, False, True]))
np.save("f16.npy", np.array([0.5, -2], "<f2"))
np.save("objects.npy", np.array([None, {}], dtype=object), allow_pickle=True)
np.save("complex.npy", np.zeros(2, "<c8"))
np.save("text.npy", np.array(["a", "bc"]))
np.save("structure.npy", np.zeros(2, [("a", "<i4"), ("b", "<f4")]))
with open("version2.npy", "wb") as f:
    np.lib.format.write_array(f, one, version=(2, 0))
np.savez("stored.npz", a=one, b=np.asfortranarray(one), c=np.float32(2))
np.savez_compressed("deflated.npz", a=one, b=np.zeros((100, 100), "u1"))
