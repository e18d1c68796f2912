package shm

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// twins are the constants of layout.h that Go has too.
var twins = map[string]uint64{
	"SPDL_L_MAGIC_RING": MagicRing, "SPDL_L_MAGIC_GROUP": MagicGroup, "SPDL_L_MAJOR": LayoutMajor, "SPDL_L_MINOR": LayoutMinor,
	"SPDL_L_ENDIAN": endianMark, "SPDL_L_LINE": lineBytes, "SPDL_L_NAME": nameBytes, "SPDL_L_MAX_NDIM": maxDims,
	"SPDL_L_MAX_SLOTS": MaxSlots, "SPDL_L_MAX_TENSORS": MaxTensors, "SPDL_L_MAX_LANES": MaxLanes, "SPDL_L_KNOWN_REQUIRED": knownRequired,
	"SPDL_L_ACCESS_PRIVATE": uint64(Private), "SPDL_L_ACCESS_SHARED": uint64(Shared),
	"SPDL_L_BACKING_POSIX": uint64(Posix), "SPDL_L_BACKING_MEMFD": uint64(Memfd),
	"SPDL_L_STARTING": StateStarting, "SPDL_L_RUNNING": StateRunning, "SPDL_L_ENDED": StateEnded, "SPDL_L_FAILED": StateFailed, "SPDL_L_STOPPED": StateStopped,
	"SPDL_L_GROUP_ABSENT": GroupAbsent, "SPDL_L_GROUP_ACTIVE": GroupActive, "SPDL_L_GROUP_CLOSED": GroupClosed, "SPDL_L_GROUP_BROKEN": GroupBroken,
	"SPDL_L_KIND_CONSUMER": uint64(KindConsumer), "SPDL_L_KIND_STAGE": uint64(KindStage), "SPDL_L_MODE_SHARED": uint64(ModeShared), "SPDL_L_MODE_LANES": uint64(ModeLanes),
	"SPDL_L_SLOW_BLOCK": uint64(SlowBlock), "SPDL_L_SLOW_DROP": uint64(SlowDrop), "SPDL_L_SLOW_DETACH": uint64(SlowDetach),
	"SPDL_L_POOL_HOST_SHM": poolHostShm, "SPDL_L_TENSOR_DENSE": Dense, "SPDL_L_TENSOR_RAGGED": Ragged,
	"SPDL_L_ROLE_FIELD": RoleField, "SPDL_L_ROLE_INDEX": RoleIndex, "SPDL_L_ROLE_KEY": RoleKey, "SPDL_L_ROLE_STATUS": RoleStatus, "SPDL_L_ROLE_LABEL": RoleLabel,
	"SPDL_L_AXES_NONE": AxesNone, "SPDL_L_AXES_NHWC": AxesNHWC, "SPDL_L_AXES_NCHW": AxesNCHW,
	"SPDL_L_FLAG_LAST": FlagLast, "SPDL_L_FLAG_SHORT": FlagShort, "SPDL_L_FLAG_BAD": FlagBad, "SPDL_L_FLAG_PADDED": FlagPadded, "SPDL_L_FLAG_KEY_CUT": FlagKeyCut,
	"SPDL_L_FREE": wordFree, "SPDL_L_READY": wordReady, "SPDL_L_HELD": wordHeld, "SPDL_L_DONE": wordDone,
	"SPDL_L_SEQ_BITS": 40, "SPDL_L_OWNER_BITS": 20,
	"SPDL_L_MSG_MAGIC": msgMagic, "SPDL_L_MSG_MAX": msgMax, "SPDL_L_WHY_MAX": whyMax, "SPDL_L_MSG_HELLO": msgHello, "SPDL_L_MSG_WELCOME": msgWelcome,
	"SPDL_L_MSG_ERROR": msgError, "SPDL_L_MSG_OK": msgOK, "SPDL_L_MSG_DETACH": msgDetach, "SPDL_L_MSG_STATE": msgState,
	"SPDL_L_MSG_LOAD": msgLoad, "SPDL_L_MSG_RESTART": msgRestart, "SPDL_L_MSG_STATS": msgStats, "SPDL_L_MSG_OBSERVE": msgObserve,
	"SPDL_L_MSG_EVICT": msgEvict, "SPDL_L_MSG_STOP": msgStop, "SPDL_L_MSG_FAIL": msgFail, "SPDL_L_MSG_DEVICE": msgDevice, "SPDL_L_MSG_CONNECT": msgConnect, "SPDL_L_KIND_UPLOADER": uint64(KindUploader),
	"SPDL_L_SEQ_AWAY": seqAway, "SPDL_L_SEQ_AWAY_REDO": seqAwayRedo, "SPDL_L_FEATURE_STAGED": featureStaged,
	"SPDL_L_FEATURE_DEVICE": featureDevice, "SPDL_L_POOL_CUDA_IPC": poolCUDAIPC, "SPDL_L_POOL_CUDA_EVENT": poolCUDAEvent, "SPDL_L_FENCE_NONE": fenceNone, "SPDL_L_FENCE_CUDA_EVENT": fenceCUDA,
	"SPDL_L_HELLO_PIDFD": helloPIDFD, "SPDL_L_HELLO_REJOIN": helloRejoin,
	"SPDL_L_PRESENCE_WELCOMED": presenceWelcomed, "SPDL_L_PRESENCE_HERE": presenceHere, "SPDL_L_PRESENCE_GONE": presenceGone, "SPDL_L_STATE_COUNT_HELD": stateCountHeld,
	"SPDL_L_WAY_OFF": wayOff, "SPDL_L_WAY_MOVING": wayMoving, "SPDL_L_WAY_SET": waySet, "SPDL_L_WAY_SPOILED": waySpoiled, "SPDL_L_WAY_VOID": wayVoid,
}

// unused are constants of later versions' parts, which Go does not need yet.
var unused = map[string]bool{
	"SPDL_L_KIND_TAGGED": true, "SPDL_L_POOL_VMM_FD": true,
}

func TestConstantsAreThoseOfLayoutH(t *testing.T) {
	b, err := os.ReadFile("../tests/golden/constants.tsv")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		name, value, _ := strings.Cut(line, "\t")
		want, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := twins[name]
		switch {
		case ok && got == want:
			seen++
		case ok:
			t.Errorf("%s is %d in C and %d in Go", name, want, got)
		case !unused[name]:
			t.Errorf("%s has no twin in Go", name)
		}
	}
	if seen != len(twins) {
		t.Errorf("%d of %d constants are in layout.h", seen, len(twins))
	}
}

func TestStatusesAreThoseOfTheCHeader(t *testing.T) {
	b, err := os.ReadFile("../include/spdl.h")
	if err != nil {
		t.Fatal(err)
	}
	for want, status := range map[string]Status{
		"SPDL_END_EPOCH": EndEpoch, "SPDL_END_DATA": EndData, "SPDL_E_ARGUMENT": ErrArgument, "SPDL_E_NOMEM": ErrNoMemory, "SPDL_E_SYSTEM": ErrSystem,
		"SPDL_E_UNSUPPORTED": ErrUnsupported, "SPDL_E_NOT_FOUND": ErrNotFound, "SPDL_E_DENIED": ErrDenied, "SPDL_E_BUSY": ErrBusy,
		"SPDL_E_VERSION": ErrVersion, "SPDL_E_FORMAT": ErrFormat, "SPDL_E_ENGINE_LOST": ErrEngineLost, "SPDL_E_ENGINE_FAILED": ErrEngineFailed,
		"SPDL_E_ENGINE_STOPPED": ErrEngineStopped, "SPDL_E_ENGINE_START": ErrEngineStart, "SPDL_E_GROUP_CLOSED": ErrGroupClosed,
		"SPDL_E_STALE": ErrStale, "SPDL_E_LEASES": ErrLeases, "SPDL_E_UNDONE": ErrUndone, "SPDL_E_DETACHED": ErrDetached,
		"SPDL_E_STATE": ErrState, "SPDL_E_SPEC": ErrSpec,
	} {
		if !strings.Contains(string(b), want+" = "+strconv.Itoa(int(status))) {
			t.Errorf("include/spdl.h does not say %s = %d", want, status)
		}
	}
}

func TestGroupEndsBeforeItsSequencesRunOut(t *testing.T) {
	cfg := testConfig(t, 8)
	r := newTestRing(t, cfg)
	c := r.attach(AttachOptions{})
	r.mu.Lock()
	r.groups[0].lane[0].tail = seqRedo - 1
	r.mu.Unlock()
	r.publish(2, 0, false)
	_, err := c.Acquire(testContext(t))
	wantErr(t, err, ErrGroupClosed)
}
