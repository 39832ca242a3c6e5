package filter_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
)

func name(n string) filter.Segment { return filter.Segment{Name: n} }

func TestParse(t *testing.T) {
	t.Parallel()
	key := filter.Segment{Key: true}
	tests := []struct {
		in   string
		want []filter.Expr
	}{
		{in: "", want: nil},
		{in: "(eq,id,1)", want: []filter.Expr{{Op: filter.Eq, Path: filter.Path{name("id")}, Values: []string{"1"}}}},
		{
			in: "(in,a/b,x,y z,';')",
			want: []filter.Expr{
				{Op: filter.In, Path: filter.Path{name("a"), name("b")}, Values: []string{"x", "y z", ";"}},
			},
		},
		{in: "(gte,n,3);(cont,s,'it''s (so), you')", want: []filter.Expr{
			{Op: filter.Gte, Path: filter.Path{name("n")}, Values: []string{"3"}},
			{Op: filter.Cont, Path: filter.Path{name("s")}, Values: []string{"it's (so), you"}},
		}},
		{in: "(eq,m/@key,k)", want: []filter.Expr{
			{Op: filter.Eq, Path: filter.Path{name("m"), key}, Values: []string{"k"}},
		}},
		{
			in:   "(eq,a~1b~0c~ad~be,v)",
			want: []filter.Expr{{Op: filter.Eq, Path: filter.Path{name("a/b~c,d@e")}, Values: []string{"v"}}},
		},
		{in: "(eq,a,'')", want: []filter.Expr{{Op: filter.Eq, Path: filter.Path{name("a")}, Values: []string{""}}}},
		{in: "(eq,a,(x)", want: []filter.Expr{{Op: filter.Eq, Path: filter.Path{name("a")}, Values: []string{"(x"}}}},
		{in: "(eq,a,wörld)", want: []filter.Expr{
			{Op: filter.Eq, Path: filter.Path{name("a")}, Values: []string{"wörld"}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			f, err := filter.Parse(tt.in)
			require.NoError(t, err)
			require.Equal(t, tt.want, f.Exprs)
			again, err := filter.Parse(f.String())
			require.NoError(t, err)
			require.Equal(t, f, again)
		})
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"eq,id,1", "expected '('"},
		{"(foo,id,1)", "unknown operator"},
		{"(EQ,id,1)", "unknown operator"},
		{"(eq", "unknown operator"},
		{"(eq)", "unknown operator"},
		{"(eq,id)", "expected ',' and a value"},
		{"(eq,id", "expected ',' and a value"},
		{"(eq,id,)", "a value is missing"},
		{"(eq,id,1", "not closed"},
		{"(eq,id,'1)", "quoted value is not closed"},
		{"(eq,id,a'b)", "a quote inside"},
		{"(eq,id,'a'b)", "expected ',' or ')'"},
		{"(eq,id,1,2)", "exactly one value"},
		{"(eq,,1)", "not an attribute name"},
		{"(eq,a//b,1)", "not an attribute name"},
		{"(eq,a~2,1)", "not an attribute name"},
		{"(eq,a~,1)", "not an attribute name"},
		{"(eq,a@b,1)", "not an attribute name"},
		{"(eq,id,1)(eq,id,2)", "expected ';'"},
		{"(eq,id,1);", "expected '('"},
		{"(eq,id,1) ", "expected ';'"},
		{strings.Repeat("(eq,a,1);", filter.MaxExprs) + "(eq,a,1)", "more than 32 expressions"},
		{"(in,a" + strings.Repeat(",1", filter.MaxValues+1) + ")", "more than 256 values"},
		{"(eq,a" + strings.Repeat("/a", filter.MaxDepth) + ",1)", "more than 16 parts"},
		{"(eq,a," + strings.Repeat("x", filter.MaxLength) + ")", "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.in[:min(len(tt.in), 30)], func(t *testing.T) {
			t.Parallel()
			_, err := filter.Parse(tt.in)
			var syntax *filter.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

const resource = `{
  "id": "vnf-1",
  "name": "it's, a (name)",
  "count": 3,
  "ratio": 0.25,
  "big": 9007199254740993,
  "auto": false,
  "since": "2026-01-02T03:04:05.500Z",
  "nothing": null,
  "tags": ["red", "green"],
  "nodes": [
    {"vdu": "master", "idx": 0, "ips": ["10.0.0.1"]},
    {"vdu": "worker", "idx": 1, "ips": ["10.0.0.2", "10.0.0.3"]}
  ],
  "vims": {"vim1": {"type": "openstack", "ports": [{"id": "p1"}]}, "vim2": {"type": "kubernetes"}},
  "a/b": {"c,d": "e"}
}`

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want bool
	}{
		{"", true},
		{"(eq,id,vnf-1)", true},
		{"(eq,id,VNF-1)", false},
		{"(neq,id,vnf-2)", true},
		{"(eq,name,'it''s, a (name)')", true},
		{"(eq,count,3)", true},
		{"(eq,count,3.0)", true},
		{"(eq,count,three)", false},
		{"(gt,count,2);(lt,count,4)", true},
		{"(gte,count,3);(lte,count,3)", true},
		{"(gt,count,3)", false},
		{"(lt,count,10)", true}, // not in the order of text
		{"(eq,ratio,0.25)", true},
		{"(eq,big,9007199254740993)", true},
		{"(eq,big,9007199254740992)", false}, // would be equal as float64
		{"(eq,auto,false)", true},
		{"(eq,auto,FALSE)", false},
		{"(gt,auto,false)", false},
		{"(gt,since,2026-01-02T03:04:05Z)", true},
		{"(eq,since,2026-01-02T04:04:05.5%2B01:00)", true},
		{"(lt,since,2026-01-02T03:04:05Z)", false},
		{"(in,id,a,b,vnf-1)", true},
		{"(nin,id,a,b)", true},
		{"(nin,id,a,vnf-1)", false},
		{"(cont,id,zzz,nf-)", true},
		{"(ncont,id,zzz)", true},
		{"(ncont,id,zzz,nf-)", false},
		{"(cont,count,3)", false},

		// Absent and null satisfy nothing.
		{"(eq,missing,x)", false},
		{"(neq,missing,x)", false},
		{"(nin,missing,x)", false},
		{"(ncont,missing,x)", false},
		{"(neq,nothing,x)", false},
		{"(neq,nodes/missing,x)", false},
		{"(eq,id/deeper,x)", false},
		{"(neq,nodes,x)", false},

		// Arrays: some element, and the same one for all expressions.
		{"(eq,tags,green)", true},
		{"(neq,tags,green)", true},
		{"(eq,tags,blue)", false},
		{"(eq,nodes/vdu,worker)", true},
		{"(eq,nodes/vdu,worker);(eq,nodes/idx,1)", true},
		{"(eq,nodes/vdu,worker);(eq,nodes/idx,0)", false},
		{"(eq,nodes/vdu,worker);(eq,id,vnf-1);(eq,nodes/ips,10.0.0.3)", true},
		{"(eq,nodes/vdu,master);(eq,nodes/ips,10.0.0.3)", false},

		// Maps.
		{"(eq,vims/vim1/type,openstack)", true},
		{"(eq,vims/@key,vim2)", true},
		{"(eq,vims/@key,vim3)", false},
		{"(eq,vims/@key,vim1);(eq,vims/type,openstack)", true},
		{"(eq,vims/@key,vim2);(eq,vims/type,openstack)", false},
		{"(cont,vims/@key,vim);(eq,vims/ports/id,p1)", true},
		{"(eq,a~1b/c~ad,e)", true},
	}
	dec := json.NewDecoder(strings.NewReader(resource))
	dec.UseNumber()
	var doc any
	require.NoError(t, dec.Decode(&doc))
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			f, err := filter.Parse(strings.ReplaceAll(tt.in, "%2B", "+"))
			require.NoError(t, err)
			require.Equal(t, tt.want, f.Match(doc))
		})
	}
}

func TestMatchReadsGoValuesToo(t *testing.T) {
	t.Parallel()
	doc := map[string]any{"n": 7, "kv": sol.KeyValuePairs{"x": int64(8), "l": []string{"a", "b"}}, "f": 1.5}
	for in, want := range map[string]bool{
		"(eq,n,7)": true, "(gt,kv/x,7)": true, "(eq,kv/l,b)": true, "(eq,kv/l,c)": false, "(lt,f,1.25)": false,
	} {
		f, err := filter.Parse(in)
		require.NoError(t, err)
		require.Equal(t, want, f.Match(doc), in)
	}
}

func TestParseForRefusesWhatTheResourceHasNot(t *testing.T) {
	t.Parallel()
	good := []string{
		"",
		"(eq,id,x)",
		"(eq,instantiatedVnfInfo/vnfcResourceInfo/vduId,worker);(eq,instantiatedVnfInfo/vnfcResourceInfo/metadata/" +
			"vdu_idx,1)",
		"(gt,instantiatedVnfInfo/scaleStatus/scaleLevel,0)",
		"(eq,vimConnectionInfo/vim1/vimType,X)",
		"(eq,vimConnectionInfo/@key,vim1);(eq,vimConnectionInfo/vimType,X)",
		"(eq,metadata/whatever/deep,1)",
		"(eq,instantiatedVnfInfo/extCpInfo/cpProtocolInfo/ipOverEthernet/ipAddresses/isDynamic,true)",
		"(cont,instantiatedVnfInfo/vnfcResourceInfo/storageResourceIds,a)",
	}
	for _, in := range good {
		_, err := filter.ParseFor[sol.VnfInstance](in)
		require.NoError(t, err, in)
	}
	bad := []struct{ in, want string }{
		{"(eq,vnfInstanceNam,x)", "no such attribute"},
		{
			"(eq,instantiatedVnfInfo/vnfcResourceInfo/vdu,x)",
			"instantiatedVnfInfo/vnfcResourceInfo/vdu: no such attribute",
		},
		{"(eq,id/x,1)", "has no parts"},
		{"(eq,instantiatedVnfInfo,x)", "is an object"},
		{"(eq,vimConnectionInfo/vimType,x)", "is an object"},
		{"(eq,vimConnectionInfo/@key,v);(eq,vimConnectionInfo/foo,x)", "next to @key"},
		{"(eq,id/@key,v)", "@key is for maps only"},
		{"(eq,vimConnectionInfo/@key/x,v)", "nothing can follow @key"},
		{"(gt,instantiatedVnfInfo/scaleStatus/scaleLevel,high)", "not a number"},
		{"(cont,instantiatedVnfInfo/scaleStatus/scaleLevel,1)", "for text only"},
		{
			"(eq,instantiatedVnfInfo/extCpInfo/cpProtocolInfo/ipOverEthernet/ipAddresses/isDynamic,yes)",
			"not true or false",
		},
		{
			"(gt,instantiatedVnfInfo/extCpInfo/cpProtocolInfo/ipOverEthernet/ipAddresses/isDynamic,true)",
			"cannot be compared",
		},
	}
	for _, tt := range bad {
		_, err := filter.ParseFor[sol.VnfInstance](tt.in)
		var attr *filter.AttributeError
		require.ErrorAs(t, err, &attr, tt.in)
		require.ErrorContains(t, err, tt.want)
	}
	_, err := filter.ParseFor[sol.VnfLcmOpOcc]("(gt,startTime,yesterday)")
	require.ErrorContains(t, err, "not a time")
	_, err = filter.ParseFor[sol.VnfLcmOpOcc](
		"(gt,startTime,2026-01-02T03:04:05Z);(eq,operationParams/flavourId,simple)",
	)
	require.NoError(t, err)
}

// Clients give times back as OpenStack Tacker prints them. They are compared as times.
func TestTimesOfTacker(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"(gt,startTime,2026-11-24 00:00:00+00:00)":      "2026-11-24T00:00:00+00:00",
		"(lt,startTime,2026-11-24 02:00:00.5+02:00)":    "2026-11-24T02:00:00.5+02:00",
		"(eq,operationState,2026-11-24 00:00:00+00:00)": "2026-11-24 00:00:00+00:00",
	} {
		f, err := filter.ParseFor[sol.VnfLcmOpOcc](in)
		require.NoError(t, err, in)
		require.Equal(t, []string{want}, f.Exprs[0].Values, in)
	}
	for _, in := range []string{"2026-11-24 ", "2026-11-24 00:00:00", "2026-11-24  00:00:00Z"} {
		_, err := filter.ParseFor[sol.VnfLcmOpOcc]("(gt,startTime," + in + ")")
		require.ErrorContains(t, err, "not a time", in)
	}
	_, err := filter.ParseFor[sol.VnfPkgInfo]("(gt,softwareImages/createdAt,2026-11-24 00:00:00+00:00)")
	require.NoError(t, err)
}

func TestSplitLeavesWhatSQLCannotAnswer(t *testing.T) {
	t.Parallel()
	columns := filter.Columns{"id": filter.Text, "at": filter.Instant, "on": filter.Truth}
	for _, pushed := range []string{
		"(eq,id,1)", "(cont,id,x,y)", "(gt,id,2026-01-02)", "(eq,at,2026-01-02T03:04:05.123456Z)", "(neq,on,true)",
	} {
		f, err := filter.Parse(pushed)
		require.NoError(t, err)
		got, rest := f.Split(columns)
		require.Equal(t, f.Exprs, got, pushed)
		require.True(t, rest.Empty())
	}
	for _, left := range []string{
		"(eq,metadata/a,3)", "(eq,other,4)", "(eq,id,2026-01-02T03:04:05Z)", "(in,id,a,2026-01-02T03:04:05Z)",
		"(eq,at,2026-01-02T03:04:05.1234567Z)", "(eq,id/@key,x)", "(eq,id,a\x00)", "(gt,at,0000-01-02T03:04:05Z)",
	} {
		f, err := filter.Parse(left + ";(eq,on,true)")
		require.NoError(t, err)
		got, rest := f.Split(columns)
		require.Len(t, got, 1, left)
		require.Equal(t, left, rest.String())
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"(eq,id,1)", "(in,a/@key,'x''',y);(gt,b~1,2)", "(eq,a,'", "((", "(cont,a,1e9)"} {
		f.Add(s, `{"id":[1,{"a":null}]}`)
	}
	f.Fuzz(func(t *testing.T, text, doc string) {
		parsed, err := filter.Parse(text)
		if err != nil {
			var syntax *filter.SyntaxError
			require.ErrorAs(t, err, &syntax)
			return
		}
		again, err := filter.Parse(parsed.String())
		if len(parsed.String()) <= filter.MaxLength {
			require.NoError(t, err)
			require.Equal(t, parsed, again)
		}
		var v any
		if json.Unmarshal([]byte(doc), &v) == nil {
			parsed.Match(v)
		}
		_, _ = filter.ParseFor[sol.VnfInstance](text)
	})
}
