package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spdl/spdl/core/device"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// Where the description has a device, an uploader runs beside the ring: a process of its own (package device), started again
// when it dies. What that means for batches is the ring's (shm, upload.go).

// onDevice is what a tensor's name on the device has behind that in the slot.
const onDevice = "@cuda"

// uploading is a ring's device.
type uploading struct {
	plan     device.Plan
	host     bool // go on in host memory when there is no uploader
	restarts int
	stats    UploadStats // guarded by ring.mu

	fileBytes atomic.Uint64
}

// UploadStats says how the uploaders of a ring fared.
type UploadStats struct {
	BatchBytes uint64 `json:"batch_bytes"`       // that are copied of a full batch, without files
	FileBytes  uint64 `json:"file_bytes"`        // of files, and of the pixels in their place, in batches that were published
	Refused    uint64 `json:"refused"`           // samples whose files the device does not decode, and the processor does
	Ended      int    `json:"ended"`             // that did not end in good order
	Last       string `json:"last,omitempty"`    // how the latest of them did
	Warning    string `json:"warning,omitempty"` // what the latest goes on without
}

// deviceOf is what a ring's tensors are on the device, and how they come there: those of a fixed place in every row, which are the
// fields that are not ragged, and the label, which every ring has; and pictures that the device decodes.
func deviceOf(s *spec.Spec, of *samples, tensors []shm.Tensor) (*shm.DeviceConfig, device.Plan) {
	c := &shm.DeviceConfig{Device: s.Device.CUDA, Slots: s.Device.Slots}
	plan := device.Plan{Device: s.Device.CUDA, InFlight: s.Device.InFlight}
	coded := of.coded()
	for i, t := range tensors {
		one, to := device.Copy{From: t.Name}, t
		switch {
		case coded != nil && i == sampleTensor:
			f, how := coded.picture()
			to, one.Decode = f.tensor(t.Values/coded.row[codedFile].shape[0]), how
		case coded != nil && (i == fieldTensor(codedLength) || i == fieldTensor(codedPlace)):
			continue // for the uploader alone
		case t.Kind != shm.Dense || t.Role != shm.RoleField && t.Role != shm.RoleLabel:
			continue
		}
		one.To = t.Name + onDevice
		to.Name = one.To
		if i == sampleTensor && s.Device.Finish != nil {
			one.Finish = finishOf(s)
			to.DType, to.Axes = dtypeOf(s.Device.Finish.DType), shm.AxesNCHW
			to.Shape = []int64{to.Shape[0], to.Shape[3], to.Shape[1], to.Shape[2]}
		}
		plan.Copies = append(plan.Copies, one)
		c.Tensors = append(c.Tensors, shm.DeviceTensor{Tensor: to, From: i})
	}
	return c, plan
}

// finishOf is (x / 255 - mean) / std as x * scale + bias.
func finishOf(s *spec.Spec) *device.Finish {
	f := &device.Finish{DType: s.Device.Finish.DType.String()}
	for c := range s.Image.Channels() {
		mean, std := 0., 1.
		if n := s.Device.Finish.Normalize; n != nil {
			mean, std = n.Mean[c], n.Std[c]
		}
		f.Scale, f.Bias = append(f.Scale, float32(1/(255*std))), append(f.Bias, float32(-mean/std))
	}
	return f
}

// denseBytes is the size of a dense tensor of a slot.
func denseBytes(t *shm.Tensor) uint64 {
	n := uint64(t.DType.Size())
	for _, d := range t.Shape {
		n *= uint64(d)
	}
	return n
}

// startUploader keeps an uploader running where the ring has a device; stop waits for its end.
func (r *ring) startUploader(ctx context.Context) (stop func()) {
	if r.upload == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.keepUploading(ctx); err != nil {
			r.withoutDevice(ctx, err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// withoutDevice is what the description says of a ring whose uploader cannot be had.
func (r *ring) withoutDevice(ctx context.Context, err error) {
	if r.upload.host {
		r.engine.log.Warnf(r.name, "%v; batches stay in host memory", err)
		r.shm.DeviceOff()
		return
	}
	if err = fmt.Errorf("engine: ring %q: %w", r.name, err); r.samples.coded() == nil {
		err = fmt.Errorf("%w; device.otherwise: host would go on in host memory", err)
	}
	select {
	case r.broken <- err:
	case <-ctx.Done():
	}
}

// keepUploading starts uploaders one after the other. It returns nil when ctx ends, and else why there will be no more: the last said
// that none would fare better, or too many in a row uploaded nothing.
func (r *ring) keepUploading(ctx context.Context) error {
	path, err := device.Find()
	if err != nil {
		return err
	}
	server := shm.Serve(shm.ServerConfig{}, shm.Service{Ring: r.shm})
	defer server.Close()
	for inARow := 0; ; {
		before, refused := r.shm.Info().Device.Uploaded, r.refused.count()
		err := r.uploadOnce(ctx, server, path)
		if ctx.Err() != nil {
			return nil
		}
		r.noteUploader(err)
		var end *device.Exit
		if !errors.As(err, &end) || end.Final() {
			return err
		}
		if r.shm.Info().Device.Uploaded > before || r.refused.count() > refused {
			inARow = 0
		}
		if inARow++; inARow > r.upload.restarts {
			return fmt.Errorf("%w, the last of %d in a row that uploaded nothing", err, inARow)
		}
		pause := pauseBefore(inARow)
		r.engine.log.Warnf(r.name, "%v; starting another in %v", err, pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// pauseBefore the nth start in a row: nothing before the first, which is for whoever was killed, then longer and longer.
func pauseBefore(n int) time.Duration {
	if n == 1 {
		return 0
	}
	return min(50*time.Millisecond<<min(n, 10), 5*time.Second)
}

// stopTime is how long an uploader has for its end in good order.
const stopTime = 5 * time.Second

// uploadOnce is the life of one uploader. An error that is no device.Exit says why there was none.
func (r *ring) uploadOnce(ctx context.Context, server *shm.Server, path string) error {
	p, err := device.Start(path, r.upload.plan, r.warnUploading)
	if err != nil {
		return err
	}
	if err := server.Child(p.Control(), p.PID(), p.PIDFD()); err != nil {
		p.Kill()
		_ = p.Wait()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			err = &device.Exit{Text: "it ended by itself"}
		}
		return err
	case <-ctx.Done():
	}
	p.Stop()
	select {
	case <-ended:
	case <-time.After(stopTime):
		p.Kill()
		<-ended
	}
	return nil
}

// warnUploading logs what an uploader goes on without, and what the next one does not if it is the same.
func (r *ring) warnUploading(text string) {
	r.mu.Lock()
	known := r.upload.stats.Warning == text
	r.upload.stats.Warning = text
	r.mu.Unlock()
	if !known {
		r.engine.log.Warnf(r.name, "device: %s", text)
	}
}

func (r *ring) noteUploader(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.upload.stats.Ended++
	r.upload.stats.Last = err.Error()
}

func (r *ring) uploadStats() *UploadStats {
	if r.upload == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.upload.stats
	s.FileBytes, s.Refused = r.upload.fileBytes.Load(), r.refused.count()
	return &s
}
