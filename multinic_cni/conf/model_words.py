"""What the net conf's models share: texts of a format, and how blocks treat other keys."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from multinic_cni.conf import formats
from multinic_cni.conf.checker import near_misses


def _format(name: str) -> tuple[AfterValidator, WithJsonSchema]:
    check = formats.FORMATS[name]

    def validate(text: str) -> str:
        problem = check(text)
        if problem:
            raise ValueError(problem)
        return text

    return AfterValidator(validate), WithJsonSchema({"type": "string", "format": name})


NetworkName = Annotated[str, *_format("network-name")]
Cidr = Annotated[str, *_format("cidr")]
CidrOrEmpty = Annotated[str, *_format("cidr-or-empty")]
Address = Annotated[str, *_format("ip-address")]
CidrOrAddress = Annotated[str, *_format("cidr-or-address")]
DelegateType = Annotated[str, *_format("delegate-type")]
AbsolutePath = Annotated[str, *_format("absolute-path")]
NicPattern = Annotated[str, *_format("nic-pattern")]
Bandwidth = Annotated[str, *_format("bandwidth")]
HexId = Annotated[str, *_format("hex-id")]
PciAddress = Annotated[str, *_format("pci-address")]
ClassName = Annotated[str, *_format("class-name")]
Rail = Annotated[str, *_format("rail")]
Mac = Annotated[str, *_format("mac")]
Sysctl = Annotated[str, *_format("sysctl")]
Bits = Annotated[int, Field(ge=0, le=128)]
Document = dict[str, Any]


class Block(BaseModel):
    """One of our own blocks: an unknown key is a mistake."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class OpenBlock(BaseModel):
    """A block whose other keys belong to somebody else; only a wrong case of ours is a mistake.

    Go reads keys without regard to case, so "IPAM" works with Go plugins: it must not be lost here
    in silence.
    """

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_near_misses(cls, document: object) -> object:
        if isinstance(document, dict):
            keys = [field.alias or name for name, field in cls.model_fields.items()]
            missed = near_misses(document, keys)
            if missed:
                raise ValueError("; ".join(f"{key}: is {known!r} meant?" for key, known in missed))
        return document
