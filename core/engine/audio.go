package engine

import (
	"errors"

	"github.com/spdl/spdl/core/spec"
)

func newSounds(*spec.Audio) (modality, error) {
	return nil, errors.New("engine: audio: this build does not decode sound yet")
}
