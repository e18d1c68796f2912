// Package cuda is one GPU through the driver's own library, which is looked for at run time: no header of CUDA is needed to build it, and
// nothing of CUDA is linked.
//
//	g, err := cuda.Open(0)
//	defer g.Close()
//	at, err := g.Alloc(1 << 20)
//	err = g.Pin(host)
//	err = g.Copy(at, host, stream)
//
// [GPU] is safe for several goroutines: each call makes the device's context current on whatever thread it runs. Errors are
// [Error]; one that no second try mends, such as that there is no driver, says so.
//
// The calls are those of capi/cuda/driver.h, which libspdl has, too. Not covered: unified memory, graphs, peer access.
package cuda
