package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

// forgedColumn is what the schema of a forged table says of a column, and its values, encoded.
type forgedColumn struct {
	element  format.SchemaElement
	encoding format.Encoding
	values   []byte
}

func columnOf(name string, kind format.Type, values []byte) forgedColumn {
	return forgedColumn{element: format.SchemaElement{Name: name, Type: &kind, RepetitionType: new(format.FieldRepetitionType)}, values: values}
}

func pathColumn(paths ...string) forgedColumn {
	var values []byte
	for _, p := range paths {
		values = append(values, plain([]byte(p))...)
	}
	return columnOf("path", format.ByteArray, values)
}

// forgeTable writes a row group of a page a column: a Parquet file as any other writer could have made it.
func forgeTable(t testing.TB, file string, rows int, columns ...forgedColumn) {
	t.Helper()
	data := []byte("PAR1")
	m := &format.FileMetaData{Version: 1, NumRows: int64(rows), Schema: []format.SchemaElement{{Name: "root", NumChildren: int32(len(columns))}}}
	group := format.RowGroup{NumRows: int64(rows)}
	for _, c := range columns {
		at := int64(len(data))
		data = append(data, dataPage(t, c.encoding, int32(rows), c.values, 0)...)
		m.Schema = append(m.Schema, c.element)
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: format.ColumnMetaData{NumValues: int64(rows), DataPageOffset: at,
			TotalCompressedSize: int64(len(data)) - at}})
	}
	m.RowGroups = []format.RowGroup{group}
	write(t, file, string(withFooter(data, thriftOf(t, m))))
}

// A column with a dot in its name is found as it is first, else as a column in a group.
func TestColumnsWithDotsInTheirNames(t *testing.T) {
	type row struct {
		Path string `parquet:"my.path"`
		AB   int64  `parquet:"a.b"`
		A    struct {
			B int64 `parquet:"b"`
			C int64 `parquet:"c.d"`
		} `parquet:"a"`
	}
	r := row{Path: "p.jpg", AB: 7}
	r.A.B, r.A.C = 8, 9
	dir := tree(t, "p.jpg")
	writeParquet(t, dir+"/t.parquet", []row{r}, 1)
	columns := []Column{{Name: "x", From: "a.b", Type: Int64}, {Name: "y", From: "a.c.d", Type: Int64}}
	s := openL(t, ListConfig{File: dir + "/t.parquet", Path: "my.path", Columns: columns})
	shards, err := OpenParquet(background, ShardsConfig{Shards: []string{dir + "/t.parquet"}, Media: []Medium{{From: []string{"my.path"}}}, Columns: columns})
	must(t, err)
	defer shards.Close()
	for _, s := range []Source{s, shards} {
		var want Buffer
		want.setInt(7)
		want.setInt(9)
		if b, _ := read(t, s, 0); string(b.Value(0)) != string(want.Value(0)) || string(b.Value(1)) != string(want.Value(1)) {
			t.Fatalf("got %v %v", b.Value(0), b.Value(1))
		}
	}
	if key := string(s.Key(0, nil)); key != "p.jpg" {
		t.Fatal(key)
	}
}

// Two columns of one name in one place are no guess.
func TestTwoColumnsOfOneNameAreRefused(t *testing.T) {
	file := t.TempDir() + "/t.parquet"
	n := columnOf("n", format.Int64, make([]byte, 8))
	forgeTable(t, file, 1, pathColumn("a.jpg"), n, n)
	_, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "n", Type: Int64}}})
	if err == nil || !strings.Contains(err.Error(), `column "n" is there twice`) {
		t.Fatalf("got %v", err)
	}
}

// A column of lists is called one, by whomever it was asked for.
func TestColumnsOfListsAreRefusedByName(t *testing.T) {
	dir := t.TempDir()
	writeParquet(t, dir+"/t.parquet", []tableRow{{Path: "a.jpg", Tags: []string{"x", "y"}}}, 1)
	want := `column "tags" holds a list of texts a row, want one value; write them as columns, or as one text a row`
	for k, c := range []ListConfig{{Path: "tags"}, {Label: "tags"}, {Columns: []Column{{Name: "tags"}}}} {
		c.File = dir + "/t.parquet"
		if _, err := OpenList(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("list %d: got %v, want %q", k, err, want)
		}
	}
	for k, c := range []ShardsConfig{{Media: []Medium{{From: []string{"tags"}}}}, {Media: []Medium{{From: []string{"path"}}}, Columns: []Column{{Name: "t", From: "tags"}}}} {
		c.Shards = []string{dir + "/t.parquet"}
		if _, err := OpenParquet(background, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("shards %d: got %v, want %q", k, err, want)
		}
	}
	if _, err := OpenList(ListConfig{File: dir + "/t.parquet", Columns: []Column{{Name: "ta"}}}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("no column %q", "ta")) {
		t.Errorf("got %v", err)
	}
}
