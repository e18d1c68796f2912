package source

import (
	"archive/tar"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// A list of numbers becomes elements of the column's type, row-major, as far as type and shape hold it.
func TestListsBecomeElements(t *testing.T) {
	ragged := func(d tensor.DType, shape ...int64) Column {
		return Column{Name: "x", Type: List, DType: d, Shape: append(tensor.Shape{}, shape...), MaxLength: 3}
	}
	fixed := func(d tensor.DType, shape ...int64) Column {
		return Column{Name: "x", Type: List, DType: d, Shape: shape}
	}
	f32 := math.Float32bits(0.1)
	for _, c := range []struct {
		column Column
		text   string
		want   string // the elements' bytes, or what the error says
	}{
		{ragged(tensor.U8), "[]", "[]"},
		{ragged(tensor.U8), " [ 1 , 2,255 ] \n", "[1 2 255]"},
		{ragged(tensor.I8), "[-128, 127, 1e1]", "[128 127 10]"},
		{ragged(tensor.I16), "[-2, 7.0]", "[254 255 7 0]"},
		{ragged(tensor.U64), "[18446744073709551615]", "[255 255 255 255 255 255 255 255]"},
		{ragged(tensor.U16), "[3.0]", "[3 0]"},
		{ragged(tensor.F32), "[0.1]", fmt.Sprint(binary.LittleEndian.AppendUint32(nil, f32))},
		{ragged(tensor.F64), "[-1e-3]", fmt.Sprint(binary.LittleEndian.AppendUint64(nil, math.Float64bits(-1e-3)))},
		{ragged(tensor.F32), `[NaN, -Infinity ,"Infinity"]`, "[0 0 192 127 0 0 128 255 0 0 128 127]"},
		{ragged(tensor.F64), `["-Infinity"]`, fmt.Sprint(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Inf(-1))))},
		{ragged(tensor.U8, 2), "[[1, 2], [3, 4]]", "[1 2 3 4]"},
		{fixed(tensor.U8, 2, 2), "[[1, 2], [3, 4]]", "[1 2 3 4]"},
		{fixed(tensor.U8, 1), "[7]", "[7]"},

		{ragged(tensor.U8), "", "got nothing, want a list of numbers such as [1, 2], or []"},
		{ragged(tensor.U8), "[1, 2, 3, 4]", "got a list of more than 3, want at most that; raise max_length of the column"},
		{ragged(tensor.U8), "[256]", `got "256", want a whole number that u8 holds`},
		{ragged(tensor.U8), "[-1]", `got "-1", want a whole number that u8 holds`},
		{ragged(tensor.I8), "[128]", `got "128", want a whole number that i8 holds`},
		{ragged(tensor.I64), "[1.5]", `got "1.5", want a whole number that i64 holds`},
		{ragged(tensor.I64), "[9223372036854775808]", "want a whole number that i64 holds"},
		{ragged(tensor.I64), "[1, NaN]", `got "NaN", want a whole number that i64 holds`},
		{ragged(tensor.U8), `["Infinity"]`, `got "Infinity", want a whole number that u8 holds`},
		{ragged(tensor.F64), "[NaNa]", `got "a]" in a list, want a comma or its end`},
		{ragged(tensor.F64), `["NaN]`, `got "\"NaN", want a number`},
		{ragged(tensor.F64), `["1"]`, `got "\"1\"", want a number`},
		{ragged(tensor.F32), "[1e39]", `got "1e39", want a number that f32 holds`},
		{ragged(tensor.F64), "[1e999]", `got "1e999", want a number`},
		{ragged(tensor.F64), "[1-2]", `got "1-2", want a number`},
		{ragged(tensor.U8), "7", `got "7", want a list of numbers of shape -1`},
		{ragged(tensor.U8), "[1, \"a\"]", `want a number`},
		{ragged(tensor.U8), "[1,]", `got "]", want a number`},
		{ragged(tensor.U8), "[1 2]", `got "2]" in a list, want a comma or its end`},
		{ragged(tensor.U8), "[1", `got "" in a list, want a comma or its end`},
		{ragged(tensor.U8), "[1, null, 2]", `got "null", want a number`},
		{ragged(tensor.U8), "[true]", `got "true", want a number`},
		{ragged(tensor.U8), "[1] 2", `got "2" behind the list`},
		{ragged(tensor.U8), "[[1]]", `got "[1]]", want a number`},
		{ragged(tensor.U8, 2), "[[1, 2], [3]]", "got a list of 1, want shape -1x2"},
		{ragged(tensor.U8, 2), "[[]]", "got a list of 0, want shape -1x2"},
		{ragged(tensor.U8, 2), "[1, 2]", `got "1, 2]", want a list of numbers of shape -1x2`},
		{fixed(tensor.U8, 2), "[1, 2, 3]", "got a list of more than 2, want shape 2"},
	} {
		before := []byte("before")
		got, err := appendList(before, &c.column, []byte(c.text))
		switch {
		case strings.HasPrefix(c.want, "[") && (err != nil || fmt.Sprint(got[len(before):]) != c.want):
			t.Errorf("%s: got %v, %v; want %s", c.text, got[len(before):], err, c.want)
		case !strings.HasPrefix(c.want, "[") && (err == nil || !strings.Contains(err.Error(), c.want) || len(got) != len(before)):
			t.Errorf("%s: got %v, %v; want %s", c.text, got[len(before):], err, c.want)
		}
	}
}

// Lists come out of JSON members and files, of tables of any text, as the same elements; where a sample has none it has the default.
func TestListsAreColumnsWhereverTheyLie(t *testing.T) {
	dir := t.TempDir()
	ids := []string{"[]", "[1]", "[2, 3]"}
	var parts []part
	csv, lines := "n,ids\n", ""
	for i, text := range ids {
		parts = append(parts, part{fmt.Sprintf("%d.json", i), fmt.Sprintf(`{"tokens": {"ids": %s}}`, text)}, part{fmt.Sprintf("%d.list", i), text})
		csv += fmt.Sprintf("%d,\"%s\"\n", i, text)
		lines += fmt.Sprintf(`{"tokens": {"ids": %s}}`, text) + "\n"
	}
	parts = append(parts, part{"3.json", `{"tokens": {"ids": null}}`}, part{"3.list", "[4]"}, part{"4.json", `{"tokens": {"ids": [1, 2, 3]}}`}, part{"4.list", "[4]"})
	for _, p := range parts {
		write(t, filepath.Join(dir, "tree", p.name), p.content)
	}
	write(t, dir+"/s.tar", string(tarOf(t, tar.FormatPAX, parts...)))
	write(t, dir+"/t.csv", csv)
	write(t, dir+"/t.jsonl", lines)
	column := func(from string) Column {
		return Column{Name: "x", From: from, Type: List, DType: tensor.I16, Shape: tensor.Shape{}, MaxLength: 2, Default: []byte{}}
	}
	member, whole := []Column{column("json[tokens.ids]")}, []Column{column("list")}
	for name, s := range map[string]Source{
		"tar":    openS(t, ShardsConfig{Shards: []string{dir + "/s.tar"}, Media: none, Columns: append(member, whole...)}),
		"folder": openF(t, FolderConfig{Dir: dir + "/tree", Media: none, Extensions: []string{"json"}, Columns: append(member, whole...)}),
		"csv":    openL(t, ListConfig{File: dir + "/t.csv", Alone: true, Columns: []Column{column("ids")}}),
		"jsonl":  openL(t, ListConfig{File: dir + "/t.jsonl", Alone: true, Columns: []Column{column("tokens.ids")}}),
	} {
		kept, _ := keptSource(t, s)
		for _, s := range []Source{s, kept, kept} {
			var b Buffer
			for i, want := range []string{"[]", "[1]", "[2 3]", "[]"}[:min(s.Len(), 4)] {
				must(t, s.Read(background, int64(i), &b))
				got := append([]int{}, shorts(b.Value(0))...)
				if fmt.Sprint(got) != want {
					t.Errorf("%s: sample %d: got %v, want %s", name, i, got, want)
				}
			}
			if s.Len() == 5 {
				if err := s.Read(background, 4, &b); err == nil || !strings.Contains(err.Error(), `value: column "x": got a list of more than 2`) {
					t.Errorf("%s: got %v", name, err)
				}
			}
		}
	}
	_, err := OpenList(ListConfig{File: dir + "/t.csv", Alone: true, Columns: []Column{{Name: "x", From: "ids", Type: List, DType: tensor.U8, Shape: tensor.Shape{}, MaxLength: 1}}})
	if err == nil || !strings.Contains(err.Error(), `line 4: column "ids": got a list of more than 1, want at most that; raise max_length`) {
		t.Errorf("got %v", err)
	}
}
