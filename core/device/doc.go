// Package device is the engine's half of uploads to a GPU: what shall be uploaded, and the process that does it.
//
//	p, err := device.Start(path, plan)
//	err = server.Child(p.Control(), p.PID(), p.PIDFD())
//	end := p.Wait()
//
// The uploader is an executable of its own, spdl-device (package upload), because a driver of a GPU brings threads and may end the process
// it is in. The engine has no trace of CUDA. A [Plan] travels on the command line as JSON; batches and everything about them go
// through the ring, of which the uploader is a member (package shm).
//
// [Process.Wait] says how the uploader ended; an [Exit] that is Final needs no second try.
package device
