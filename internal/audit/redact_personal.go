package audit

import "strings"

// personalRules returns the forms of personal data. Numbers count only with
// the right check digits, where there are any.
func personalRules() []rule {
	return []rule{
		{name: "email", gates: []string{"@"}, expr: `[A-Za-z0-9][A-Za-z0-9._%+\-]*@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)*\.[A-Za-z]{2,}\b`},
		{name: "iban", digits: 10, expr: `\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`, ok: validIBAN},
		{name: "cn-id", digits: 17, expr: `\b\d{17}[\dXx]\b`, ok: validChineseID},
		{name: "card", digits: 13, expr: `\b\d(?:[ \-]?\d){12,18}\b`, ok: validCard},
		{name: "phone", digits: 11, expr: `(?:^|[^\w.])((?:\+?86[ \-]?)?1[3-9]\d[ \-]?\d{4}[ \-]?\d{4})(?:$|[^\w.]|\.(?:$|\D))`},
		{name: "phone", digits: 10, gates: []string{"-"}, expr: `(?:^|[^\w.\-])(0(?:10|2\d|[3-9]\d\d)-\d{7,8})(?:$|[^\w\-])`},
		{name: "phone", digits: 8, gates: []string{"+"}, expr: `(?:^|[^\d\w])(\+[1-9]\d{0,2}(?:[ \-.]?\(?\d{2,4}\)?){2,5})\b`, ok: func(s string) bool {
			n := countDigits(s)
			return n >= 9 && n <= 15
		}},
	}
}

// validCard checks the issuer's digit and the Luhn sum of 13 to 19 digits.
func validCard(s string) bool {
	s = strings.NewReplacer(" ", "", "-", "").Replace(s)
	switch { // shorter ones than 16 digits have few issuers; EAN codes have 13 digits too
	case len(s) > 19 || len(s) < 13 || s[0] < '2' || s[0] > '6',
		len(s) == 13 && s[0] != '4', (len(s) == 14 || len(s) == 15) && s[0] != '3':
		return false
	}
	sum := 0
	for i := range len(s) {
		d := int(s[len(s)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// validChineseID checks the birth date and the check digit (ISO 7064 MOD
// 11-2) of an ID number as in GB 11643.
func validChineseID(s string) bool {
	weights := [17]int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2}
	sum := 0
	for i, w := range weights {
		sum += int(s[i]-'0') * w
	}
	if "10X98765432"[sum%11] != strings.ToUpper(s[17:])[0] {
		return false
	}
	year, month, day := s[6:10], s[10:12], s[12:14]
	return s[0] >= '1' && s[0] <= '8' && year >= "1900" && year <= "2099" && month >= "01" && month <= "12" && day >= "01" && day <= "31"
}

// validIBAN checks the length and the ISO 7064 MOD 97-10 sum.
func validIBAN(s string) bool {
	s = strings.ReplaceAll(s, " ", "")
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	sum := 0
	for _, c := range s[4:] + s[:4] {
		switch {
		case c >= '0' && c <= '9':
			sum = (sum*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			sum = (sum*100 + int(c-'A') + 10) % 97
		default:
			return false
		}
	}
	return sum == 1
}
