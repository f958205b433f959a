package demo

import "math/rand/v2"

// people makes up names.
type people struct {
	random                 *rand.Rand
	family, given          []named
	western, westernFamily []string
}

// A named is a word in English, or in pinyin, and in Chinese.
type named struct{ name, nameZH string }

func newPeople(random *rand.Rand) *people {
	return &people{
		random: random,
		family: []named{
			{"Wang", "王"},
			{"Li", "李"},
			{"Zhang", "张"},
			{"Liu", "刘"},
			{"Chen", "陈"},
			{"Yang", "杨"},
			{"Zhao", "赵"},
			{"Huang", "黄"},
			{"Zhou", "周"},
			{"Wu", "吴"},
			{"Xu", "徐"},
			{"Sun", "孙"},
			{"Hu", "胡"},
			{"Zhu", "朱"},
			{"Gao", "高"},
			{"Lin", "林"},
			{"He", "何"},
			{"Guo", "郭"},
			{"Ma", "马"},
			{"Luo", "罗"},
			{"Ouyang", "欧阳"},
		},
		given: []named{
			{"Wei", "伟"},
			{"Fang", "芳"},
			{"Na", "娜"},
			{"Min", "敏"},
			{"Jing", "静"},
			{"Lei", "磊"},
			{"Yang", "洋"},
			{"Yan", "艳"},
			{"Jie", "杰"},
			{"Tao", "涛"},
			{"Ming", "明"},
			{"Chao", "超"},
			{"Xiulan", "秀兰"},
			{"Xia", "霞"},
			{"Ping", "平"},
			{"Gang", "刚"},
			{"Guiying", "桂英"},
			{"Yuchen", "雨晨"},
			{"Zihan", "子涵"},
			{"Haoran", "浩然"},
			{"Siqi", "思琪"},
			{"Xinyi", "欣怡"},
			{"Junjie", "俊杰"},
			{"Jiahui", "佳慧"},
			{"Bowen", "博文"},
			{"Tianyu", "天宇"},
		},
		western: []string{
			"Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Henry", "Isabel", "Jack", "Kate", "Liam", "Maria",
			"Noah", "Olivia", "Paul", "Quinn", "Rosa", "Sam", "Tessa", "Uma", "Victor", "Wendy", "Xavier", "Yara", "Zoe",
		},
		westernFamily: []string{
			"Adams", "Baker", "Carter", "Dubois", "Evans", "Fischer", "Garcia", "Hansen", "Ito", "Jensen", "Kim", "Lopez",
			"Meyer", "Novak", "O'Brien", "Patel", "Rossi", "Smith", "Tanaka", "Vogel", "Weber", "Young",
		},
	}
}

// next returns a name; nameZH is empty for three in ten.
func (p *people) next() (name, nameZH string) {
	if p.random.IntN(10) < 3 {
		return p.western[p.random.IntN(len(p.western))] + " " + p.westernFamily[p.random.IntN(len(p.westernFamily))], ""
	}
	family, given := p.family[p.random.IntN(len(p.family))], p.given[p.random.IntN(len(p.given))]
	return given.name + " " + family.name, family.nameZH + given.nameZH
}
