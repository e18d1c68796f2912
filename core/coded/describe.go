package coded

import (
	"fmt"

	"github.com/spdl/spdl/core/spec"
)

func wrong(path, format string, args ...any) error {
	return &spec.Error{File: "description", Path: path, Text: fmt.Sprintf(format, args...)}
}

// MisuseError says what cannot be done with a Muxing, or with an array that it was given.
type MisuseError struct{ Text string }

func (e *MisuseError) Error() string { return "coded: " + e.Text }

func misuse(format string, args ...any) error { return &MisuseError{fmt.Sprintf(format, args...)} }

// parse reads a description: every key known and given once, every number in its range.
func parse(document []byte, to any) error { return spec.Read("description", document, to) }

// need refuses a description that lacks a number.
func need(path string, got int, want string) error {
	if got == 0 {
		return wrong(path, "is missing, want %s", want)
	}
	return nil
}

func needSize(path string, width, height int) error {
	if err := need(path+".width", width, "the columns of each picture that is given"); err != nil {
		return err
	}
	return need(path+".height", height, "the rows of each picture that is given")
}

func needSound(path string, rate, channels int) error {
	if err := need(path+".rate", rate, "samples a second"); err != nil {
		return err
	}
	return need(path+".channels", channels, "how many the samples have")
}
