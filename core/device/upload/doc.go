// Package upload copies a ring's batches to a GPU. It is the whole of spdl-device.
//
//	err := upload.Run(ctx, control, plan)
//
// [Run] joins the ring as the one member of its uploader's group, makes device slots, exports them, pins the ring's memory, and then copies batch
// after batch, several at a time: each has a stream, so the copy of one and the finishing kernel of another overlap. A batch
// is handed on when its event has happened, never before, so that an uploader that dies leaves no batch half copied that
// consumers take for whole.
//
// What the device slots hold, who may read them and what becomes of them when this process dies is package shm's (upload.go there).
//
// Two goroutines: one claims and begins copies, one waits for the oldest and hands it on.
package upload
