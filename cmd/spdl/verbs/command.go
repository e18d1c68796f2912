package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spelling"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Version of the command; the linker sets it.
var Version = "0.0.0"

// patience is how long an orderly end is not cut short by another signal: timeout(1) and terminals send two at once.
const patience = 2 * time.Second

// app is one run of the command.
type app struct {
	out, err  io.Writer
	started   time.Time    // of the process
	control   *os.File     // a child engine's end of its parent's socket until somebody has taken it; else nil
	inProcess bool         // the process is the consumer's: its signals are not ours
	feed      *source.Feed // in process: what the samples of source.host come through
	refused   error        // that help was asked for a verb that there is not
}

// Main runs the command and returns the exit code of the process.
func Main(args []string, out, err io.Writer) int {
	printed := &output{to: out}
	a := &app{out: printed, err: err, started: processStart(), control: controlOf(args)}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(patience, stop) }) // a later signal ends the process at once
	silent := a.control != nil && os.Getenv("SPDL_LOG") == "off"      // the ring has what a program's own engine failed of
	root := a.root()
	strictCompletion(root)
	root.SetArgs(args)
	failure := root.ExecuteContext(ctx)
	if failure == nil {
		failure = a.refused
	}
	failure = printed.lost(failure)
	if failure == nil && a.control != nil {
		failure = errHelpAsked
	}
	if failure == nil {
		return exitOK
	}
	failure = limited(interrupted(ctx, failure))
	if (a.control == nil || shm.RefuseOwner(a.control, told(failure)) != nil) && !silent {
		text := strings.ReplaceAll(spelling.InLine(failure.Error(), "\n\t"), "\n", "\n\t") // lines of its own, as a stack has, are seen to be
		(&engine.Unhurried{To: err}).Write(fmt.Appendf(nil, "spdl: %s\n", text))
	}
	return exitCode(failure)
}

// errHelpAsked is what the parent of an engine is told that served nothing and failed of nothing.
var errHelpAsked = usage("serve: got --help or -h among the arguments, which prints the usage and starts no engine; leave it out")

// limited adds the remedy to whatever failed for want of descriptors.
func limited(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("%w; raise the limit of open files (ulimit -n)", err)
	}
	return err
}

// endings are the signals that end a run in good order. A terminal that closes sends SIGHUP; whoever started the process with nohup
// wants it to stay.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// interrupted is err in a person's words where a signal caused it.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && exitCode(err) == exitInterrupted {
		return &because{errors.New("interrupted"), err}
	}
	return err
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "spdl",
		Short: "Serve data sets as batches in shared memory",
		Long: `spdl reads pictures, videos and sounds, decodes and batches them straight into a ring of slots in shared memory, where
programs in any language take them without a copy.

  spdl serve /data/train --size 224 --batch 64   a folder of pictures
  spdl serve imagenet.yaml                       a description: see docs/spec.md
  spdl init /data/train > imagenet.yaml          a description to begin with
  spdl check imagenet.yaml                       what would a consumer see?
  spdl explain random_resized_crop               what does a key of it mean?

Exit codes: 0 done; 1 failed; 2 command line, description or state wrong; 3 not found; 4 denied; 5 name, lane or leases
in use; 6 no room in memory or /dev/shm; 7 other version or format; 130 interrupted.`,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return noneEmpty(c) },
		SilenceErrors:     true, SilenceUsage: true, Version: Version, SuggestionsMinimumDistance: 2,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return noVerb(c, args[0])
		},
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [VERB]",
		Short: "Say what a verb does",
		RunE: func(c *cobra.Command, args []string) error {
			of, rest, err := root.Find(args)
			if err != nil || of == root && len(rest) > 0 {
				return noVerb(root, args[0])
			}
			if len(rest) > 0 {
				return usage("help: got %q, want the name of one verb", strings.Join(args, " "))
			}
			return of.Help()
		},
	})
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if verb := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") }); c == root && verb == 0 && args[0] != "help" {
			a.refused = noVerb(root, args[0]) // cobra has no place for it
			return
		}
		a.help(c)
	})
	root.SetVersionTemplate("spdl {{.Version}}\n")
	root.AddCommand(a.serve(), a.init(), a.check(), a.view(), a.pack(), a.bench(), a.profile(), a.top(), a.trace(), a.replay(), a.verify(), a.inspect(), a.clean(), a.explain(), a.schema(), a.version())
	return root
}

// strictCompletion has cobra's verb refuse a shell that it does not know, and arguments behind one.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "completion" })
	if i < 0 {
		return
	}
	completion := root.Commands()[i]
	var shells []string
	for _, c := range completion.Commands() {
		c.Args = none("completion " + c.Name())
		shells = append(shells, c.Name())
	}
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("completion: %q, want one of %s", args[0], strings.Join(shells, ", "))
		}
		return c.Help()
	}
}

// noVerb says that there is none of that name, or that it was not looked for behind --.
func noVerb(root *cobra.Command, name string) error {
	if slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name }) {
		return usage("got \"--\" ahead of the verb %q; leave it out", name)
	}
	near := slices.DeleteFunc(root.SuggestionsFor(name), func(verb string) bool {
		return spelling.Edits(name, verb) > max(1, len(name)/3) && !strings.HasPrefix(verb, name)
	})
	return usage("no verb %q%s (spdl --help lists them)", name, didYouMean(near))
}

// didYouMean proposes what was perhaps meant.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// oneOrNone is a proposal to didYouMean, none where nothing is near.
func oneOrNone(near string) []string {
	if near == "" {
		return nil
	}
	return []string{near}
}

// emptyAllowed marks the flags to which an empty text says something.
const emptyAllowed = "spdl_empty"

func mayBeEmpty(f *pflag.FlagSet, name string) { _ = f.SetAnnotation(name, emptyAllowed, nil) }

// noneEmpty refuses flags with an empty text, as of a script's variable that is not set: it is not taken for one left out.
func noneEmpty(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if _, allowed := f.Annotations[emptyAllowed]; !allowed && err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = usage("%s: --%s is empty; leave it out, or give it a value: %s", c.Name(), f.Name, f.Usage)
		}
	})
	return err
}

// flagError says what is wrong with a flag in our words, with the nearest one there is.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	where := ""
	if c.HasParent() {
		where = c.Name() + ": "
	}
	switch {
	case errors.As(err, &value):
		return usage("%s--%s %q, want %s", where, value.GetFlag().Name, value.GetValue(), kindText(value.GetFlag().Value.Type()))
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return usage("%sno flag --%s%s (%s --help lists them)", where, unknown.GetSpecifiedName(), didYouMean(flagsNear(c, unknown.GetSpecifiedName())), c.CommandPath())
	}
	if unknown != nil {
		return usage("%sno flag -%s: flags are whole words%s (%s --help lists them)", where, unknown.GetSpecifiedName(), didYouMean(flagsFrom(c, unknown.GetSpecifiedName())), c.CommandPath())
	}
	return usage("%s%v (%s --help lists the flags)", where, err, c.CommandPath())
}

// flagsFrom are the flags that begin with a letter.
func flagsFrom(c *cobra.Command, letter string) (all []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && strings.HasPrefix(f.Name, letter) {
			all = append(all, "--"+f.Name)
		}
	})
	return all
}

// flagsNear are the flags that were perhaps meant: those that differ in a letter or two, or else the one that the name begins with, as --batch
// is of --batch-size.
func flagsNear(c *cobra.Command, written string) (near []string) {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names = append(names, f.Name)
		if spelling.Edits(written, f.Name) <= 2 {
			near = append(near, "--"+f.Name)
		}
	})
	if one := spelling.Nearest(written, names); len(near) == 0 && one != "" {
		near = append(near, "--"+one)
	}
	return near
}

// kindText is what a flag of that type takes.
func kindText(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "float64":
		return "a number"
	case "string", "stringArray":
		return "a word"
	case "uint64":
		return "a whole number from 0"
	case "duration":
		return "a time such as 10s"
	}
	return "a whole number"
}

// logTo is the engine's log on standard error, at the level that SPDL_LOG names and in the form of SPDL_LOG_FORMAT.
func (a *app) logTo(level engine.Level) (*engine.Log, error) {
	l, err := a.newLog(level)
	log.SetFlags(0)
	log.SetOutput(others{l})
	return l, err
}

// others takes the lines that libraries, net/http above all, write for themselves.
type others struct{ log *engine.Log }

func (o others) Write(line []byte) (int, error) {
	o.log.Debugf("", "%s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

func (a *app) newLog(level engine.Level) (*engine.Log, error) {
	if name := os.Getenv("SPDL_LOG"); name != "" {
		named, err := engine.ParseLevel(name)
		if err != nil {
			return nil, usage("SPDL_LOG: %v", err)
		}
		level = named
	}
	switch format := os.Getenv("SPDL_LOG_FORMAT"); format {
	case "", "text":
		return engine.NewLog(a.err, level), nil
	case "json":
		return engine.NewJSONLog(a.err, level), nil
	default:
		return nil, usage("SPDL_LOG_FORMAT: %q, want text or json", format)
	}
}

// controlOf is the descriptor given with --control-fd. It is looked for before the flags are parsed, so that a parent is told of
// a command line that makes no sense, too.
func controlOf(args []string) *os.File {
	if len(args) == 0 || args[0] != "serve" || !slices.Contains(args, "--child") {
		return nil
	}
	for i, arg := range args {
		value, found := strings.CutPrefix(arg, "--control-fd=")
		if arg == "--control-fd" && i+1 < len(args) {
			value, found = args[i+1], true
		}
		if fd, err := strconv.Atoi(value); found && err == nil && fd > 2 {
			return os.NewFile(uintptr(fd), "control")
		}
	}
	return nil
}

// processStart is when this process began, within the 10 ms that the kernel counts in; now if it does not tell.
func processStart() time.Time {
	now := time.Now()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return now
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return now
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	uptime, known := bootTime()
	if age := uptime - time.Duration(ticks)*10*time.Millisecond; err == nil && known && age > 0 {
		return now.Add(-age)
	}
	return now
}
